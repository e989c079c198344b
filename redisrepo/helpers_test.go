package redisrepo_test

import (
	"bytes"
	"strings"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// knowsRights reports whether the server can tell a script what its user may run: Redis 7.0 and newer.
func knowsRights(s *repotest.Site) bool {
	return s.Do("EVAL", "return redis.acl_check_cmd and 1 or 0", 0) == int64(1)
}

// moved is a site on another server that has imported the export of this one, and has the same export.
func moved(s *repotest.Site, options ...redisrepo.Option) *repotest.Site {
	s.T.Helper()
	write := func(of *repotest.Site) string {
		var to bytes.Buffer
		require.Value(export.Write(s.Ctx, of.Repo, &to, export.Options{Report: s.T.Output()}))(s.T)
		return to.String()
	}
	text, target := write(s), redistest.Start(s.T)
	require.Value(export.Read(s.Ctx, target.Client, s.Rules, strings.NewReader(text), export.Options{Report: s.T.Output()}, append(options, redisrepo.WithClock(s.Clock.Now))...))(s.T)
	other := *s
	other.Server, other.Raw = target, target.Client
	result := other.Reopened(target.Client, nil, options...)
	first, second := strings.Split(text, "\n"), strings.Split(write(result), "\n")
	for i := range max(len(first), len(second)) {
		if i >= len(first) || i >= len(second) || first[i] != second[i] {
			s.T.Errorf("line %d of the second export differs: %.300q, want %.300q", i+1, second[min(i, len(second)-1)], first[min(i, len(first)-1)])
			break
		}
	}
	result.WantClean()
	return result
}
