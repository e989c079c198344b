package identity

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// name returns what errors call the option.
func (o Options) name(field string) string { return cmp.Or(o.Names[field], field) }

// list names several options, for example "A, B and C".
func (o Options) list(conjunction string, fields ...string) string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = o.name(field)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// where returns those of the fields whose value is true.
func where(fields []string, values ...bool) (found []string) {
	for i, value := range values {
		if value {
			found = append(found, fields[i])
		}
	}
	return found
}

// hasTokens reports whether tokens are accepted.
func (o Options) hasTokens() bool {
	return o.Secret != "" || o.JWKS != ""
}

// validate checks everything that needs no file and no network.
func (o Options) validate() error {
	byToken := []string{"Secret", "JWKS"}
	modes := append(byToken[:2:2], "ProxyHeader", "Development")
	chosen := where(modes, o.Secret != "", o.JWKS != "", o.ProxyHeader != "", o.Development)
	claims := where([]string{"Issuer", "Audience"}, o.Issuer != "", len(o.Audience) > 0)
	missing := where([]string{"Issuer", "Audience"}, o.Issuer == "", len(o.Audience) == 0)
	proxy := where([]string{"RolesHeader", "Proxies"}, o.RolesHeader != "", len(o.Proxies) > 0)
	negative := where([]string{"Leeway", "Refresh", "Pause"}, o.Leeway < 0, o.Refresh < 0, o.Pause < 0)
	switch {
	case o.ValidName == nil:
		return errors.New("ValidName is missing")
	case o.NameClaim != "" && o.NameClaim != subjectClaim && o.Accounts == nil:
		return fmt.Errorf("%s needs Accounts", o.name("NameClaim"))
	case o.Sessions != nil && (o.ProxyHeader != "" || o.Development):
		return fmt.Errorf("set only one of %s", o.list("and", "Sessions", chosen[0]))
	case o.Sessions != nil && !o.hasTokens() && len(claims) > 0:
		return fmt.Errorf("%s: only tokens have an issuer and an audience: set one of %s, too", o.list("and", claims...), o.list("or", byToken...))
	case len(chosen) == 0 && o.Sessions == nil:
		return fmt.Errorf("set exactly one of %s", o.list("and", modes...))
	case len(chosen) > 1:
		return fmt.Errorf("set only one of %s", o.list("and", chosen...))
	case (o.ProxyHeader != "" || o.Development) && len(claims) > 0:
		return fmt.Errorf("%s: only tokens have an issuer and an audience: set one of %s, too", o.list("and", claims...), o.list("or", byToken...))
	case o.JWKS != "" && len(missing) > 0:
		return fmt.Errorf("%s needs %s: other services may trust the same keys", o.name(chosen[0]), o.list("and", missing...))
	case o.ProxyHeader == "" && len(proxy) > 0:
		return fmt.Errorf("%s: set %s, too: the header in which the proxy names the user", o.list("and", proxy...), o.name("ProxyHeader"))
	case o.ProxyHeader != "" && len(o.Proxies) == 0:
		return fmt.Errorf("%s needs %s: the addresses of the proxies that set the header", o.name("ProxyHeader"), o.name("Proxies"))
	case len(negative) > 0:
		return fmt.Errorf("%s: a time cannot be negative", o.list("and", negative...))
	}
	for _, audience := range o.Audience {
		if audience == "" {
			return fmt.Errorf("%s: an audience is empty", o.name("Audience"))
		}
	}
	for _, name := range o.Moderators {
		if name == "" {
			return fmt.Errorf("%s: a name is empty", o.name("Moderators"))
		}
		if err := o.ValidName(name); err != nil {
			return fmt.Errorf("%s: %w", o.name("Moderators"), err)
		}
	}
	for _, proxy := range o.Proxies {
		if !proxy.IsValid() {
			return fmt.Errorf("%s: a prefix is invalid: write it like 10.0.0.1/32 or fd00::/8", o.name("Proxies"))
		}
	}
	return nil
}
