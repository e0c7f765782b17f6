/** The cookie of the console's sessions. The API sets it; the proxy neither lets an upstream see it nor set it. */
export const sessionCookie = 'postern_session';
