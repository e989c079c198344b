package failover_test

import (
	"errors"
	"testing"

	"frontpage/redisrepo/failover"
)

// redisError is an error reply of Redis.
type redisError string

func (e redisError) Error() string { return string(e) }

func (redisError) RedisError() {}

// The errors of all supported versions, in and outside of scripts, tell whether Redis serves reads. An error that
// only quotes such a code, in the text of an article for example, is a fault.
func TestErrorsOfRedisAreClassified(t *testing.T) {
	t.Parallel()
	wrapped := func(text string) string {
		return "ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): @user_script:12: " + text
	}
	for text, want := range map[string]error{
		"OOM command not allowed when used memory > 'maxmemory'.":                         failover.ErrReadOnly,
		"OOM command not allowed. script: a7f30a77, on @user_script:1.":                   failover.ErrReadOnly,
		wrapped("@user_script: 12: -OOM command not allowed"):                             failover.ErrReadOnly,
		wrapped("@user_script: 12: -READONLY You can't write against a read only"):        failover.ErrReadOnly,
		wrapped("@user_script: 12: -MISCONF Redis is configured to save RDB snapshots"):   failover.ErrReadOnly,
		"NOREPLICAS Not enough good replicas to write.":                                   failover.ErrReadOnly,
		"NOAUTH Authentication required.":                                                 failover.ErrDenied,
		"WRONGPASS invalid username-password pair or user is disabled.":                   failover.ErrDenied,
		"NOPERM this user has no permissions to run the 'get' command":                    failover.ErrDenied,
		"ERR The user executing the script can't run this command or subcommand script:":  failover.ErrDenied,
		"ERR ACL failure in script: User default has no permissions to run the 'set'":     failover.ErrDenied,
		wrapped("@user_script: 12: The user executing the script can't run this command"): failover.ErrDenied,
		"LOADING Redis is loading the dataset in memory":                                  failover.ErrUnavailable,
		"BUSY Redis is busy running a script.":                                            failover.ErrUnavailable,
		"ERR max number of clients reached":                                               failover.ErrUnavailable,
		"ERR value is not an integer, but OOM ":                                           nil,
		"ERR Protocol error: unauthenticated multibulk length":                            failover.ErrDenied,
		"OOMPH":                              nil,
		wrapped("CORRUPT votes of OOM "):     nil,
		wrapped("WRONGTYPE Operation: -OOM"): nil,
		"ERR x @user_script: 12: -OOM comma": nil,
	} {
		err := failover.Wrap("test", redisError(text))
		for _, class := range []error{failover.ErrReadOnly, failover.ErrDenied} {
			if got := errors.Is(err, class); got != errors.Is(want, class) {
				t.Errorf("%s: is %q: %t, want %t", text, class, got, !got)
			}
		}
		if got := errors.Is(err, failover.ErrUnavailable); got != (want != nil) {
			t.Errorf("%s: is %q: %t, want %t", text, failover.ErrUnavailable, got, !got)
		}
	}
}
