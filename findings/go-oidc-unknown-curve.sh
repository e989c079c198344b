#!/bin/bash
# go-oidc v3.21.0 with go-jose v4.1.4, which it requires (Go), 2026-11-28.
# Guess: a provider's set of keys may have keys of kinds that a client does not know; it ignores them (RFC 7517, 5).
# Seen: that is so for a key with an alg, and for an unknown kty, but not for a key of an unknown curve, such as secp256k1,
# whose alg is left out, as it may be: then the whole set is unreadable, and no token of the provider can be verified.
#   secp256k1 with alg: true, secp256k1: false
# A provider with such a key adds its alg; a client requires go-jose v4.1.9, which Go does not take by itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/coreos/go-oidc/v3@v3.21.0 github.com/go-jose/go-jose/v4@v4.1.4 2>/dev/null
cat >main.go <<'END'
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

func encoded(hexadecimal string) string {
	b, _ := hex.DecodeString(hexadecimal)
	return base64.RawURLEncoding.EncodeToString(b)
}

func main() {
	key, _ := rsa.GenerateKey(rand.Reader, 2048)
	signer, _ := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	signed, _ := signer.Sign([]byte("{}"))
	token, _ := signed.CompactSerialize()
	ours, _ := json.Marshal(jose.JSONWebKey{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"})
	// The base point of the curve is a valid public key: that of the private key 1.
	x := encoded("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
	y := encoded("483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8")
	for _, other := range [][2]string{
		{"secp256k1 with alg", fmt.Sprintf(`{"kty":"EC","crv":"secp256k1","alg":"ES256K","kid":"2","x":%q,"y":%q}`, x, y)},
		{"secp256k1", fmt.Sprintf(`{"kty":"EC","crv":"secp256k1","kid":"2","x":%q,"y":%q}`, x, y)},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"keys":[%s,%s]}`, ours, other[1])
		}))
		_, err := oidc.NewRemoteKeySet(context.Background(), server.URL).VerifySignature(context.Background(), token)
		fmt.Printf("%s: %t\n", other[0], err == nil)
		server.Close()
	}
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = "secp256k1 with alg: true
secp256k1: false" ]
