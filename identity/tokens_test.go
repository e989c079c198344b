package identity_test

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestOnlyValidTokensAreAccepted(t *testing.T) {
	t.Parallel()
	var (
		ec, ed         = newEC(elliptic.P256()), newEd()
		attacker, p384 = newEC(elliptic.P256()), newEC(elliptic.P384())
		weak           = newRSA(1024)
		shared         = "a shared key, published by mistake"
	)
	byKeySet := open(t, identity.Options{Issuer: issuer, Audience: []string{audience, "front"}, JWKS: write(t, jwks(
		jwk("rsa", rsaKey(), `"alg":"RS256"`, `"use":"sig"`, `"x5c":["damaged"]`, `"x5u":"http://issuer.example/cert"`),
		jwk("ec", ec), jwk("ed", ed, `"key_ops":["verify"]`), jwk("p384", p384),
		jwk("enc", ec, `"use":"enc"`), jwk("ops", ec, `"key_ops":["encrypt"]`), jwk("weak", weak), jwk("pss", rsaKey(), `"alg":"PS256"`),
		`{"kty":"oct","kid":"oct","k":"`+encode([]byte(shared))+`"}`, `{"kty":"EC","kid":5}`, `"no key"`, jwk("ed", ec),
		`{"kty":"RSA","kid":"long","e":"AQAB","n":"`+encode(bytes.Repeat([]byte{255}, 1025))+`"}`,
	))})
	bySecret := open(t, identity.Options{Secret: secret, Issuer: issuer, Audience: []string{audience}})

	der := require.Value(x509.MarshalPKIXPublicKey(rsaKey().Public()))(t)
	asSecret := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	hs, good := header("HS256", ""), claims()
	goodHS := sign(hs, good, secret)
	goodEC := sign(header("ES256", "ec"), good, ec)
	body := strings.Split(goodHS, ".")
	// changed signs changed claims with the secret.
	changed := func(changes ...string) string { return sign(hs, claims(changes...), secret) }

	const (
		malformed = "malformed"
		unsigned  = "not signed with"
	)
	tests := map[string]struct {
		by      *identity.Verifier
		token   string
		name    string        // empty means alice
		code    identity.Code // empty means accepted
		message string        // part of the message
	}{
		"HS256":                           {by: bySecret, token: goodHS},
		"HS256 with a kid":                {by: bySecret, token: sign(header("HS256", "any"), good, secret)},
		"RS256":                           {by: byKeySet, token: sign(header("RS256", "rsa"), good, rsaKey())},
		"ES256":                           {by: byKeySet, token: goodEC},
		"EdDSA":                           {by: byKeySet, token: sign(header("EdDSA", "ed"), good, ed)},
		"two keys of one kid":             {by: byKeySet, token: sign(header("ES256", "ed"), good, ec)},
		"no kid, one key fits":            {by: byKeySet, token: sign(header("RS256", ""), good, rsaKey())},
		"no kid, several fit":             {by: byKeySet, token: sign(header("ES256", ""), good, ec)},
		"an empty kid":                    {by: byKeySet, token: sign(`{"alg":"ES256","kid":""}`, good, ec)},
		"an unknown header member":        {by: bySecret, token: sign(`{"alg":"HS256","colour":"red"}`, good, secret)},
		"several audiences":               {by: bySecret, token: changed("aud", `["other","frontpage"]`)},
		"the second audience":             {by: byKeySet, token: sign(header("ES256", "ec"), claims("aud", `"front"`), ec)},
		"a fraction of a second":          {by: bySecret, token: changed("exp", seconds(time.Minute)+".75")},
		"expired within the leeway":       {by: bySecret, token: changed("exp", seconds(-29*time.Second))},
		"early within the leeway":         {by: bySecret, token: changed("nbf", seconds(30*time.Second))},
		"issued in the future":            {by: bySecret, token: changed("iat", seconds(time.Hour))},
		"claims in other case":            {by: bySecret, token: changed("SUB", `"mallory"`, "Exp", "1")},
		"a name in other scripts":         {by: bySecret, token: changed("sub", `"Zoë 花"`), name: "Zoë 花"},
		"an escaped name":                 {by: bySecret, token: changed("sub", `"\u0061lice"`)},
		"deep claims":                     {by: bySecret, token: changed("deep", strings.Repeat("[", 500)+strings.Repeat("]", 500))},
		"just not too long":               {by: bySecret, token: changed("pad", `"`+strings.Repeat("x", 5950)+`"`)},
		"an embedded key is not used":     {by: byKeySet, token: sign(`{"alg":"ES256","kid":"ec","jwk":`+jwk("ec", attacker)+`}`, good, ec)},
		"a key by URL is not used":        {by: byKeySet, token: sign(`{"alg":"ES256","kid":"ec","jku":"https://evil.example/jwks","x5u":"https://evil.example/c"}`, good, ec)},
		"the time of a far year":          {by: bySecret, token: changed("exp", "253402300799")},
		"a kid like a path is not a path": {by: bySecret, token: sign(header("HS256", "../../dev/null"), good, secret)},

		"expired":                          {by: bySecret, token: changed("exp", seconds(-time.Hour)), code: identity.Expired},
		"expired just now":                 {by: bySecret, token: changed("exp", seconds(-30*time.Second)), code: identity.Expired},
		"expired before there was a clock": {by: bySecret, token: changed("exp", "-1"), code: identity.Expired},
		"expired, ES256":                   {by: byKeySet, token: sign(header("ES256", "ec"), claims("exp", seconds(-time.Hour)), ec), code: identity.Expired},
		"expired, and its key is gone":     {by: byKeySet, token: sign(header("ES256", "old"), claims("exp", seconds(-time.Hour)), attacker), code: identity.Expired},
		"expired and for others":           {by: bySecret, token: changed("exp", seconds(-time.Hour), "aud", `"other"`), code: identity.Invalid, message: "another audience"},
		"expired and badly signed":         {by: bySecret, token: sign(hs, claims("exp", seconds(-time.Hour)), "x"), code: identity.Invalid, message: unsigned},

		"no exp":                  {by: bySecret, token: changed("exp", ""), code: identity.Invalid, message: "exp is required"},
		"exp is zero":             {by: bySecret, token: changed("exp", "0"), code: identity.Invalid, message: "exp is required"},
		"exp is null":             {by: bySecret, token: changed("exp", "null"), code: identity.Invalid, message: "wrong type"},
		"exp is a string":         {by: bySecret, token: changed("exp", `"`+seconds(time.Hour)+`"`), code: identity.Invalid, message: "wrong type"},
		"exp is out of range":     {by: bySecret, token: changed("exp", "1e300"), code: identity.Invalid, message: "wrong type"},
		"exp is no float":         {by: bySecret, token: changed("exp", "1e999"), code: identity.Invalid, message: malformed},
		"nbf is out of range":     {by: bySecret, token: changed("nbf", "1e300"), code: identity.Invalid, message: "wrong type"},
		"nbf is a string":         {by: bySecret, token: changed("nbf", `"0"`), code: identity.Invalid, message: "wrong type"},
		"not valid yet":           {by: bySecret, token: changed("nbf", seconds(31*time.Second)), code: identity.Invalid, message: "not valid yet"},
		"another issuer":          {by: bySecret, token: changed("iss", `"https://evil.example/"`), code: identity.Invalid, message: "another issuer"},
		"an issuer almost":        {by: bySecret, token: changed("iss", `"https://issuer.example"`), code: identity.Invalid, message: "another issuer"},
		"no issuer":               {by: bySecret, token: changed("iss", ""), code: identity.Invalid, message: "lacks a claim"},
		"a list of issuers":       {by: bySecret, token: changed("iss", `["`+issuer+`"]`), code: identity.Invalid, message: "wrong type"},
		"another audience":        {by: bySecret, token: changed("aud", `"other"`), code: identity.Invalid, message: "another audience"},
		"other audiences":         {by: bySecret, token: changed("aud", `["other","frontpages"]`), code: identity.Invalid, message: "another audience"},
		"no audience":             {by: bySecret, token: changed("aud", ""), code: identity.Invalid, message: "lacks a claim"},
		"no audience in a list":   {by: bySecret, token: changed("aud", `[]`), code: identity.Invalid, message: "lacks a claim"},
		"an audience is a number": {by: bySecret, token: changed("aud", `["frontpage",1]`), code: identity.Invalid, message: "wrong type"},
		"an audience in an object": {by: bySecret, token: changed("aud", `{"frontpage":true}`), code: identity.Invalid,
			message: "lacks a claim"},

		"no subject":                      {by: bySecret, token: changed("sub", ""), code: identity.Invalid, message: "subject"},
		"an empty subject":                {by: bySecret, token: changed("sub", `""`), code: identity.Invalid, message: "subject"},
		"the subject is a number":         {by: bySecret, token: changed("sub", `17`), code: identity.Invalid, message: "subject"},
		"the subject is a list":           {by: bySecret, token: changed("sub", `["alice"]`), code: identity.Invalid, message: "subject"},
		"a space before the subject":      {by: bySecret, token: changed("sub", `" alice"`), code: identity.Invalid, message: "subject"},
		"a line break in the subject":     {by: bySecret, token: changed("sub", `"ali\nce"`), code: identity.Invalid, message: "subject"},
		"a NUL after the subject":         {by: bySecret, token: changed("sub", `"alice\u0000"`), code: identity.Invalid, message: "subject"},
		"half a character in the subject": {by: bySecret, token: changed("sub", `"alice\ud800"`), code: identity.Invalid, message: "subject"},
		"bad UTF-8 in the subject":        {by: bySecret, token: changed("sub", "\"alice\xff\""), code: identity.Invalid, message: "subject"},
		"a long subject":                  {by: bySecret, token: changed("sub", `"`+strings.Repeat("a", 65)+`"`), code: identity.Invalid, message: "subject"},

		"two subjects":             {by: bySecret, token: sign(hs, strings.TrimSuffix(good, "}")+`,"sub":"bob"}`, secret), code: identity.Invalid, message: malformed},
		"two expiries":             {by: bySecret, token: sign(hs, `{"exp":1,`+good[1:], secret), code: identity.Invalid, message: malformed},
		"the same claim twice":     {by: bySecret, token: sign(hs, `{"s\u0075b":"alice",`+good[1:], secret), code: identity.Invalid, message: malformed},
		"claims are a list":        {by: bySecret, token: sign(hs, "["+good+"]", secret), code: identity.Invalid, message: malformed},
		"claims are null":          {by: bySecret, token: sign(hs, "null", secret), code: identity.Invalid},
		"claims are not JSON":      {by: bySecret, token: sign(hs, "sub=alice", secret), code: identity.Invalid, message: malformed},
		"data after the claims":    {by: bySecret, token: sign(hs, good+"{}", secret), code: identity.Invalid, message: malformed},
		"a token within a token":   {by: bySecret, token: sign(`{"alg":"HS256","cty":"JWT"}`, goodHS, secret), code: identity.Invalid, message: malformed},
		"deeply nested claims":     {by: bySecret, token: sign(hs, strings.Repeat("[", 6000), secret), code: identity.Invalid, message: malformed},
		"empty":                    {by: bySecret, token: "", code: identity.Invalid, message: malformed},
		"two parts":                {by: bySecret, token: body[0] + "." + body[1], code: identity.Invalid, message: malformed},
		"four parts":               {by: bySecret, token: goodHS + ".", code: identity.Invalid, message: malformed},
		"an encrypted token":       {by: bySecret, token: sign(`{"alg":"dir","enc":"A128GCM"}`, good, secret) + ".AA.AA", code: identity.Invalid, message: malformed},
		"only dots":                {by: bySecret, token: "..", code: identity.Invalid, message: malformed},
		"another alphabet":         {by: bySecret, token: body[0] + "." + body[1] + ".++//", code: identity.Invalid, message: malformed},
		"padding":                  {by: bySecret, token: goodHS + "=", code: identity.Invalid, message: malformed},
		"bits after the signature": {by: bySecret, token: goodHS[:len(goodHS)-1] + string(lastBit(goodHS[len(goodHS)-1])), code: identity.Invalid, message: malformed},
		"a line break within":      {by: bySecret, token: goodHS[:len(goodHS)-5] + "\n" + goodHS[len(goodHS)-5:], code: identity.Invalid, message: malformed},
		"a space after":            {by: bySecret, token: goodHS + " ", code: identity.Invalid, message: malformed},
		"8 KiB and one byte":       {by: bySecret, token: goodHS + strings.Repeat("A", 8193-len(goodHS)), code: identity.Invalid, message: "8 KiB"},
		"a megabyte":               {by: bySecret, token: strings.Repeat("A", 1<<20), code: identity.Invalid, message: "8 KiB"},

		"none":                      {by: bySecret, token: sign(header("none", ""), good, nil), code: identity.Invalid, message: unsigned},
		"none, key set":             {by: byKeySet, token: sign(header("none", "ec"), good, nil), code: identity.Invalid, message: unsigned},
		"None":                      {by: bySecret, token: sign(header("None", ""), good, nil), code: identity.Invalid, message: unsigned},
		"none, but signed":          {by: bySecret, token: sign(header("none", ""), good, secret), code: identity.Invalid, message: unsigned},
		"no signature":              {by: bySecret, token: body[0] + "." + body[1] + ".", code: identity.Invalid, message: unsigned},
		"no signature, key set":     {by: byKeySet, token: sign(header("ES256", "ec"), good, nil), code: identity.Invalid, message: unsigned},
		"another secret":            {by: bySecret, token: sign(hs, good, secret+"!"), code: identity.Invalid, message: unsigned},
		"another token's signature": {by: bySecret, token: body[0] + "." + encode([]byte(claims("sub", `"bob"`))) + "." + body[2], code: identity.Invalid, message: unsigned},
		"another hash":              {by: bySecret, token: sign(header("HS512", ""), good, hs512), code: identity.Invalid, message: unsigned},
		"hs256 in lower case":       {by: bySecret, token: sign(header("hs256", ""), good, secret), code: identity.Invalid, message: unsigned},
		"no algorithm":              {by: bySecret, token: sign(`{"typ":"JWT"}`, good, secret), code: identity.Invalid, message: unsigned},
		"the algorithm is a list":   {by: bySecret, token: sign(`{"alg":["HS256"]}`, good, secret), code: identity.Invalid, message: unsigned},
		"the header is null":        {by: bySecret, token: sign(`null`, good, secret), code: identity.Invalid, message: unsigned},
		"a key, but a secret is used": {by: bySecret, token: sign(header("ES256", "ec"), good, ec), code: identity.Invalid,
			message: unsigned},
		"HS256 with the public key":    {by: byKeySet, token: sign(header("HS256", "rsa"), good, asSecret), code: identity.Invalid, message: unsigned},
		"HS256 with the modulus":       {by: byKeySet, token: sign(header("HS256", "rsa"), good, string(rsaKey().N.Bytes())), code: identity.Invalid, message: unsigned},
		"HS256 with a published key":   {by: byKeySet, token: sign(header("HS256", "oct"), good, shared), code: identity.Invalid, message: unsigned},
		"HS256 with an empty secret":   {by: byKeySet, token: sign(header("HS256", ""), good, ""), code: identity.Invalid, message: unsigned},
		"RS256 with a key for ES256":   {by: byKeySet, token: sign(header("RS256", "ec"), good, ec), code: identity.Invalid, message: unsigned},
		"ES256 with a key for RS256":   {by: byKeySet, token: sign(header("ES256", "rsa"), good, rsaKey()), code: identity.Invalid, message: unsigned},
		"PS256":                        {by: byKeySet, token: sign(header("PS256", "rsa"), good, ps256), code: identity.Invalid, message: unsigned},
		"ES384":                        {by: byKeySet, token: sign(header("ES384", "p384"), good, p384), code: identity.Invalid, message: unsigned},
		"an attacker's key":            {by: byKeySet, token: sign(header("ES256", "ec"), good, attacker), code: identity.Invalid, message: unsigned},
		"an attacker's key, no kid":    {by: byKeySet, token: sign(header("ES256", ""), good, attacker), code: identity.Invalid, message: unsigned},
		"an attacker's key, embedded":  {by: byKeySet, token: sign(`{"alg":"ES256","kid":"ec","jwk":`+jwk("ec", attacker)+`}`, good, attacker), code: identity.Invalid, message: unsigned},
		"a signature of zeros":         {by: byKeySet, token: goodEC[:strings.LastIndex(goodEC, ".")+1] + encode(make([]byte, 64)), code: identity.Invalid, message: unsigned},
		"crit":                         {by: bySecret, token: sign(`{"alg":"HS256","crit":["exp"],"exp":1}`, good, secret), code: identity.Invalid, message: "extension"},
		"an empty crit":                {by: byKeySet, token: sign(`{"alg":"ES256","kid":"ec","crit":[]}`, good, ec), code: identity.Invalid, message: "extension"},
		"claims that are not encoded":  {by: bySecret, token: sign(`{"alg":"HS256","b64":false,"crit":["b64"]}`, good, secret), code: identity.Invalid, message: "extension"},
		"alg twice":                    {by: bySecret, token: sign(`{"alg":"none","alg":"HS256"}`, good, secret), code: identity.Invalid, message: malformed},
		"alg twice, one escaped":       {by: bySecret, token: sign(`{"alg":"HS256","\u0061lg":"HS256"}`, good, secret), code: identity.Invalid, message: malformed},
		"kid twice":                    {by: byKeySet, token: sign(`{"alg":"ES256","kid":"ed","kid":"ec"}`, good, ec), code: identity.Invalid, message: malformed},
		"the kid is a number":          {by: byKeySet, token: sign(`{"alg":"ES256","kid":5}`, good, ec), code: identity.Invalid},
		"the kid is null":              {by: byKeySet, token: sign(`{"alg":"ES256","kid":null}`, good, ec), code: identity.Invalid},
		"a kid like a file":            {by: byKeySet, token: sign(header("ES256", "../../../dev/null"), good, ec), code: identity.KeyUnknown},
		"a kid like a URL":             {by: byKeySet, token: sign(header("ES256", "https://evil.example/jwks#ec"), good, ec), code: identity.KeyUnknown},
		"a kid like a query":           {by: byKeySet, token: sign(header("ES256", "ec' OR '1'='1"), good, ec), code: identity.KeyUnknown},
		"a kid in upper case":          {by: byKeySet, token: sign(header("ES256", "EC"), good, ec), code: identity.KeyUnknown},
		"a key for encryption":         {by: byKeySet, token: sign(header("ES256", "enc"), good, ec), code: identity.KeyUnknown},
		"a key for other operations":   {by: byKeySet, token: sign(header("ES256", "ops"), good, ec), code: identity.KeyUnknown},
		"a key for another algorithm":  {by: byKeySet, token: sign(header("RS256", "pss"), good, rsaKey()), code: identity.KeyUnknown},
		"a weak key":                   {by: byKeySet, token: sign(header("RS256", "weak"), good, weak), code: identity.KeyUnknown},
		"a key of 8200 bits":           {by: byKeySet, token: sign(header("RS256", "long"), good, rsaKey()), code: identity.KeyUnknown},
		"another curve":                {by: byKeySet, token: sign(header("ES256", "p384"), good, p384), code: identity.KeyUnknown},
		"another issuer's unknown key": {by: byKeySet, token: sign(header("ES256", "x"), claims("iss", `"x"`), attacker), code: identity.Invalid, message: "another issuer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := byToken(tt.by, tt.token)
			if tt.name == "" {
				tt.name = "alice"
			}
			want(t, got, err, tt.name, tt.code)
			if err == nil {
				return
			}
			if text := err.Error(); !strings.Contains(text, tt.message) || strings.ContainsAny(text, "\n\"{") || len(text) > 100 {
				t.Errorf("message = %q, want %q in it and at most 100 bytes", text, tt.message)
			}
			if refusal := (site.Refusal)(nil); errors.As(err, &refusal) {
				t.Error("the refusal wraps an error of redisrepo")
			}
		})
	}
}

// lastBit sets a bit of the last character that is not part of a byte.
func lastBit(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)|1]
}

func TestATokenExpiresAfterTheLeeway(t *testing.T) {
	t.Parallel()
	at := now
	v := open(t, identity.Options{Secret: secret, Leeway: time.Minute, Now: func() time.Time { return at }})
	token := sign(header("HS256", ""), claims("exp", seconds(time.Hour), "iss", "", "aud", ""), secret)
	caller, err := byToken(v, token)
	want(t, caller, err, "alice", "")
	if left := caller.Expires.Sub(now); left != time.Hour+time.Minute {
		t.Errorf("Expires is in %v, want %v: an hour and the leeway", left, time.Hour+time.Minute)
	}
	at = caller.Expires.Add(-time.Nanosecond)
	_, err = byToken(v, token)
	want(t, caller, err, "alice", "")
	at = caller.Expires
	caller, err = byToken(v, token)
	want(t, caller, err, "", identity.Expired)
}

func TestOnlyTheRoleModeratorMakesAModerator(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		claim  string // the option
		role   string // the option
		claims []string
		want   bool
	}{
		"none":                   {claims: nil},
		"a role of the site's":   {role: "chief", claims: []string{"roles", `["chief"]`}, want: true},
		"not that role":          {role: "chief", claims: []string{"roles", `["moderator"]`}},
		"a list":                 {claims: []string{"roles", `["writer","moderator"]`}, want: true},
		"a string":               {claims: []string{"roles", `"writer  moderator"`}, want: true},
		"other roles":            {claims: []string{"roles", `["moderators","Moderator"," moderator"]`}},
		"a list of everything":   {claims: []string{"roles", `[1,null,{"moderator":true},["moderator"]]`}},
		"a list with a number":   {claims: []string{"roles", `[1,"moderator"]`}, want: true},
		"a number":               {claims: []string{"roles", `1`}},
		"an object":              {claims: []string{"roles", `{"writer":{},"moderator":{"123":"news.example.org"}}`}, want: true},
		"an object of flags":     {claims: []string{"roles", `{"moderator":true}`}, want: true},
		"an object without it":   {claims: []string{"roles", `{"writer":{"moderator":{}}}`}},
		"a flag that is off":     {claims: []string{"roles", `{"moderator":false}`}},
		"a role that is null":    {claims: []string{"roles", `{"moderator":null}`}},
		"a role that is empty":   {claims: []string{"roles", `{"moderator":""}`}},
		"a role that is 0":       {claims: []string{"roles", `{"moderator":0}`}},
		"a string with commas":   {claims: []string{"roles", `"writer,moderator, reader"`}, want: true},
		"a path":                 {claim: "realm_access.roles", claims: []string{"realm_access", `{"roles":["moderator"]}`}, want: true},
		"a path that ends early": {claim: "realm_access.roles", claims: []string{"realm_access", `["moderator"]`}},
		"a path that is missing": {claim: "realm_access.roles", claims: []string{"roles", `["moderator"]`}},
		"a name with dots":       {claim: "https://a.example/roles", claims: []string{"https://a.example/roles", `["moderator"]`}, want: true},
		"a path to a name with dots": {claim: "access.my.client.roles",
			claims: []string{"access", `{"my.client.roles":"moderator"}`}, want: true},
		"a path through a name with dots": {claim: "resource_access.news.example.org.roles",
			claims: []string{"resource_access", `{"account":{"roles":["x"]},"news.example.org":{"roles":["moderator"]}}`}, want: true},
		"a path from a name with dots": {claim: "https://a.example/access.roles",
			claims: []string{"https://a.example/access", `{"roles":["moderator"]}`}, want: true},
		"dots in each name": {claim: "a.b.c.d.e.f", claims: []string{"a.b", `{"c.d":{"e.f":["moderator"]}}`}, want: true},
		"the longest name":  {claim: "a.b.c", claims: []string{"a.b", `{"c":"moderator"}`, "a", `{"b":{"c":"writer"}}`}, want: true},
		"the longest name without the rest": {claim: "a.b.c",
			claims: []string{"a.b", `{"x":"writer"}`, "a", `{"b":{"c":"moderator"}}`}, want: true},
		"the longest name below": {claim: "r.a.b.c", claims: []string{"r", `{"a":{"b":{"c":"moderator"}},"a.b":{"x":1}}`}, want: true},
		"a longer name that is no object": {claim: "a.b.c",
			claims: []string{"a.b", `"moderator"`, "a", `{"b":{"c":"moderator"}}`}, want: true},
		"a longer name that is null": {claim: "a.b", claims: []string{"a.b", "null", "a", `{"b":"moderator"}`}, want: true},
		"half of a name":             {claim: "a.b.c", claims: []string{"a.b.c.d", `"moderator"`, "a.b.", `{"c":"moderator"}`}},
		"dots alone":                 {claim: "..", claims: []string{"", `{"":{"":"moderator"}}`}, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, identity.Options{Secret: secret, RolesClaim: tt.claim, ModeratorRole: tt.role})
			caller, err := byToken(v, sign(header("HS256", ""), claims(tt.claims...), secret))
			want(t, caller, err, "alice", "")
			if caller.Moderator != tt.want {
				t.Errorf("Moderator = %v, want %v", caller.Moderator, tt.want)
			}
		})
	}
}

func TestRolesThatCannotBeReadAreLoggedOncePerForm(t *testing.T) {
	t.Parallel()
	var log sitetest.Log
	v := open(t, identity.Options{Secret: secret, RolesClaim: "site.roles", Log: log.Logger(slog.LevelInfo)})
	for _, tt := range []struct{ roles, form string }{
		{`["moderator"]`, ""}, {`[]`, ""}, {`""`, ""}, {`{}`, ""}, {`null`, ""}, {`{"writer":false}`, ""},
		{`1`, `form="a number"`}, {`2`, ""}, {`true`, `form="true or false"`},
		{`[{"name":"moderator"}]`, `form="an array with other elements than strings"`}, {`["moderator",1]`, ""},
	} {
		before := len(log.String())
		_, err := byToken(v, sign(header("HS256", ""), claims("site", `{"roles":`+tt.roles+`}`), secret))
		require.NoError(t, err)
		logged := log.String()[before:]
		if tt.form == "" && logged != "" || !strings.Contains(logged, tt.form) || tt.form != "" && !strings.Contains(logged, "claim=site.roles") {
			t.Errorf("%s: the log has %q, want %q", tt.roles, logged, tt.form)
		}
	}
}
