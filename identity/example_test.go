package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"

	"frontpage/identity"
)

func ExampleVerifier_FromRequest() {
	v, err := identity.New(context.Background(), identity.Options{
		ProxyHeader: "X-Forwarded-User",
		RolesHeader: "X-Forwarded-Groups",
		Proxies:     []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		ValidName: func(name string) error {
			if len(name) > 64 {
				return errors.New("a user name has at most 64 bytes")
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v)

	req := httptest.NewRequest("POST", "/query", nil)
	req.RemoteAddr = "10.0.0.7:50000"
	caller, err := v.FromRequest(req)
	fmt.Printf("%q %v\n", caller.Name, err) // anonymous

	req.Header.Set("X-Forwarded-User", "alice")
	req.Header.Set("X-Forwarded-Groups", "staff,moderator")
	caller, err = v.FromRequest(req)
	fmt.Printf("%q %v moderator: %v\n", caller.Name, err, caller.Moderator)

	req.RemoteAddr = "192.0.2.1:50000"
	_, err = v.FromRequest(req)
	var refusal *identity.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Message)
	}
	// Output:
	// users are authenticated by the header X-Forwarded-User of a trusted proxy
	// "" <nil>
	// "alice" <nil> moderator: true
	// PROXY_UNTRUSTED the header X-Forwarded-User is accepted from this server's proxies only
}
