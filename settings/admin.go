package settings

import "fmt"

// minAdminToken is the minimum length of FRONTPAGE_ADMIN_TOKEN, bytes.
const minAdminToken = 16

// Admin are the settings of the listener for operators.
type Admin struct {
	AdminAddr      string `placeholder:"HOST:PORT" help:"Address to serve /metrics and /debug/pprof on, by http. Without FRONTPAGE_ADMIN_TOKEN it must be a loopback address. If unset, they are not served."`
	AdminToken     string `placeholder:"TOKEN" help:"Token that requests to FRONTPAGE_ADMIN_ADDR must show, at least 16 bytes: as a bearer token, or as the password of Basic authentication."`
	AdminTokenFile string `hidden:""`

	adminToken string // of AdminToken or AdminTokenFile, set by check
}

func (a *Admin) check() (err error) {
	if a.adminToken, err = secret(a.AdminToken, a.AdminTokenFile, "admin-token"); err != nil {
		return err
	}
	if n := len(a.adminToken); n > 0 && n < minAdminToken {
		return Invalid(fmt.Errorf("it has %d bytes, want at least %d", n, minAdminToken), secretFlag(a.AdminTokenFile, "admin-token"))
	}
	return nil
}

// AdminSecret returns the token of the listener for operators; it is empty if none is set.
func (a *Admin) AdminSecret() string { return a.adminToken }
