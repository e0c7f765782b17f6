# syntax=docker/dockerfile:1
# The digest is that of the index of all platforms; docker buildx imagetools inspect node:26.10.0-bookworm-slim shows it.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim@sha256:662933cf47f013bc8e4beb31a6116448427a82057ba7c42c97e4c5ba766504c2

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts && npm pack --pack-destination /packed

FROM ${NODE_IMAGE}
RUN --mount=from=build,source=/packed,target=/packed \
    npm install --global --ignore-scripts --no-audit --no-fund /packed/*.tgz && \
    npm cache clean --force && \
    rm -rf /usr/local/lib/node_modules/npm /usr/local/bin/npm /usr/local/bin/npx /root/.npm && \
    install -d -o 10001 -g 10001 -m 0700 /var/lib/postern
# Nothing but this folder and /tmp is ever written: run it with a read-only root.
USER 10001:10001
WORKDIR /var/lib/postern
VOLUME /var/lib/postern
ENV NODE_ENV=production POSTERN_CONFIG=/var/lib/postern/postern.yaml
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["postern", "--url", "http://127.0.0.1:8081", "status"]
ENTRYPOINT ["postern"]
CMD ["serve"]
