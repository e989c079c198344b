#!/bin/bash
# openid-client 6.9.0 (npm), Node 20, 2026-11-28.
# Guess: for a provider whose document has no token_endpoint_auth_methods_supported, a client secret goes into the header
# Authorization, since the method left out is client_secret_basic (OpenID Connect Discovery 1.0, 3).
# Seen: there is no such header, and the secret is in the body.
#   authorization: undefined, client_secret: s3cret
# A provider that accepts only what its document says refuses this: such a client names its method.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit openid-client@6.9.0
cat >run.mjs <<'END'
import { createServer } from "node:http";
import * as client from "openid-client";
let issuer;
const server = createServer(async (req, res) => {
  let body = "";
  for await (const part of req) body += part;
  res.setHeader("Content-Type", "application/json");
  if (req.url !== "/token") {
    const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` };
    const lists = { response_types_supported: ["code"], subject_types_supported: ["public"], id_token_signing_alg_values_supported: ["RS256"] };
    return res.end(JSON.stringify({ issuer, ...endpoints, ...lists }));
  }
  console.log(`authorization: ${req.headers.authorization}, client_secret: ${new URLSearchParams(body).get("client_secret")}`);
  res.writeHead(400).end('{"error":"invalid_grant"}');
}).listen(0, "127.0.0.1", async () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = await client.discovery(new URL(issuer), "news", "s3cret", undefined, { execute: [client.allowInsecureRequests] });
  await client.refreshTokenGrant(provider, "token").catch(() => {});
  process.exit();
});
END
[ "$(node run.mjs)" = "authorization: undefined, client_secret: s3cret" ]
