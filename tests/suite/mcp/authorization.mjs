// An authorization server of another author, which registers clients, asks a person in her browser, and gives tokens that
// last as many seconds as LASTS says. It prints its port, and ends with its stdin. POST /end takes all logins back.
import http from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PACKAGES}/`);
const { Provider } = await import(require.resolve("oidc-provider"));

const server = http.createServer((request, response) => answer(request, response));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const lasts = Number(process.env.LASTS ?? 3600);

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "made-by-hand",
      client_secret: "s3cret-of-the-client",
      redirect_uris: [`http://127.0.0.1:${process.env.BACK_PORT ?? 1}/callback`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
    {
      client_id: "guard",
      client_secret: "guards",
      redirect_uris: [],
      grant_types: [],
      response_types: [],
      token_endpoint_auth_method: "client_secret_post",
      introspection_endpoint_auth_method: "client_secret_post",
    },
  ],
  scopes: ["offline_access", "tickets:read", "tickets:write"],
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    registration: { enabled: process.env.REGISTERS !== "no" },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => ({
        scope: "tickets:read tickets:write",
        audience: resource,
        accessTokenTTL: lasts,
        accessTokenFormat: "opaque",
      }),
    },
  },
  ttl: { AccessToken: lasts },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  pkce: { required: () => true },
});
const { Grant } = provider;
const handle = provider.callback();
const grants = new Set();
provider.on("grant.success", (context) => grants.add(context.oidc.entities.Grant?.jti));
provider.on("registration_create.success", () => console.log("registered"));
provider.on("refresh_token.consumed", () => console.log("renewed"));

async function answer(request, response) {
  if (request.url !== "/end") return handle(request, response);
  for (const grant of grants) {
    const found = grant && (await Grant.find(grant));
    await provider.RefreshToken.revokeByGrantId?.(grant);
    await provider.AccessToken.revokeByGrantId?.(grant);
    await found?.destroy();
  }
  response.end();
}

console.log(server.address().port);
process.stdin.resume().on("end", () => process.exit(0));
