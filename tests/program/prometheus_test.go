package program_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

const adminToken = "0123456789abcdef"

// promtool runs promtool with these arguments.
func promtool(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	tool := exec.Command("promtool", args...)
	tool.Stdin = stdin
	if out, err := tool.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// prometheus runs Prometheus as deploy/ configures it, but for addresses, the token and the interval.
func prometheus(t *testing.T, target string) (api string) {
	t.Helper()
	text := require.Value(os.ReadFile("../../deploy/prometheus/prometheus.yml"))(t)
	rules := require.Value(filepath.Abs("../../deploy/prometheus/alerts.yml"))(t)
	config := strings.NewReplacer("127.0.0.1:9464", target, "15s", "1s", "- alerts.yml", "- "+rules,
		"# authorization:", "authorization:", "#   credentials_file: /run/secrets/admin", "  credentials_file: "+fileOf(t, adminToken)).Replace(string(text))
	folder := t.TempDir()
	file := filepath.Join(folder, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	address := freeAddress(t)
	server := exec.Command("prometheus", "--config.file", file, "--storage.tsdb.path", filepath.Join(folder, "data"), "--web.listen-address", address, "--log.level", "error")
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return "http://" + address + "/api/v1/"
}

// results are the results of a query, or of a list of rules.
type results struct {
	Status string
	Error  string
	Data   struct {
		Result []struct{ Value []any }
		Groups []struct {
			Rules []struct{ Name, Health, LastError, LastEvaluation string }
		}
	}
}

func fetch(t *testing.T, address string) (r results, err error) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		return r, err
	}
	defer func() { _ = res.Body.Close() }()
	return r, json.NewDecoder(res.Body).Decode(&r)
}

var (
	documentedMetric = regexp.MustCompile("(?m)^\\| `(frontpage_[a-z_]+)` \\| (\\w+)")
	expression       = regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`)
)

// A real Prometheus scrapes a real server: it gets each documented metric, and runs each rule and each query of the
// dashboard.
func TestPrometheusScrapesTheServer(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "rules", "../../deploy/prometheus/alerts.yml")
	promtool(t, nil, "test", "rules", "../../deploy/prometheus/alerts_test.yml")
	promtool(t, nil, "check", "config", "--syntax-only", "../../deploy/prometheus/prometheus.yml")

	target := freeAddress(t)
	s := start(t, "FRONTPAGE_ADMIN_ADDR="+target, "FRONTPAGE_ADMIN_TOKEN_FILE="+fileOf(t, adminToken+"\n"))
	s.ask(`query Front { articles { id } }`)
	s.post(http.DefaultClient, `mutation { post(input: {title: "t", text: "x", groups: []}) { article { id } } }`, "X-User-ID", "alice")
	api := prometheus(t, target)
	query := func(text string) (results, error) { return fetch(t, api+"query?query="+url.QueryEscape(text)) }
	require.Eventually(t, "a scrape", func() bool {
		up, err := query(`up{job="frontpage"} == 1`)
		return err == nil && len(up.Data.Result) == 1
	})

	document := require.Value(os.ReadFile("../../docs/metrics.md"))(t)
	metrics := documentedMetric.FindAllStringSubmatch(string(document), -1)
	for _, m := range metrics {
		name := m[1]
		if strings.HasPrefix(name, "frontpage_redis_replication_") || strings.HasPrefix(name, "frontpage_webhook_") && m[2] == "gauge" {
			continue // of replicas and webhooks, which this server lacks
		}
		if m[2] == "histogram" {
			name += "_bucket"
		}
		if r, err := query(name); err != nil || len(r.Data.Result) == 0 {
			t.Errorf("Prometheus has nothing of %s: %v", name, err)
		}
	}
	dashboard := require.Value(os.ReadFile("../../deploy/grafana/frontpage.json"))(t)
	expressions := expression.FindAllStringSubmatch(string(dashboard), -1)
	for _, m := range expressions {
		var text string
		require.NoError(t, json.Unmarshal([]byte(m[1]), &text))
		text = strings.NewReplacer("$__rate_interval", "1m", "$job", "frontpage", "$instance", ".*").Replace(text)
		if r, err := query(text); err != nil || r.Status != "success" {
			t.Errorf("%s: %v %s", text, err, r.Error)
		}
	}
	if len(metrics) < 30 || len(expressions) < 50 {
		t.Errorf("%d metrics and %d expressions were found, want at least 30 and 50", len(metrics), len(expressions))
	}
	require.Eventually(t, "all rules to be evaluated", func() bool {
		r, err := fetch(t, api+"rules")
		return err == nil && len(r.Data.Groups) == 1 && !slices.ContainsFunc(r.Data.Groups[0].Rules, func(rule struct{ Name, Health, LastError, LastEvaluation string }) bool {
			if rule.LastError != "" {
				t.Fatalf("%s: %s", rule.Name, rule.LastError)
			}
			return rule.Health != "ok"
		})
	})
	_, text := s.do(http.DefaultClient, request(t, "http://"+target+"/metrics", "Authorization", "Bearer "+adminToken))
	promtool(t, strings.NewReader(text), "check", "metrics")
}

func request(t *testing.T, address string, header ...string) *http.Request {
	t.Helper()
	req := require.Value(http.NewRequest(http.MethodGet, address, nil))(t)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// Profiles and metrics are for operators only.
func TestListenerForOperatorsNeedsItsToken(t *testing.T) {
	t.Parallel()
	target := freeAddress(t)
	s := start(t, "FRONTPAGE_ADMIN_ADDR="+target, "FRONTPAGE_ADMIN_TOKEN="+adminToken)
	basic := request(t, "http://"+target+"/")
	basic.SetBasicAuth("any", adminToken)
	for _, each := range []struct {
		req    *http.Request
		status int
		body   string
	}{
		{request(t, "http://"+target+"/"), 401, "FRONTPAGE_ADMIN_TOKEN"},
		{request(t, "http://"+target+"/metrics", "Authorization", "Bearer "+adminToken+"x"), 401, "FRONTPAGE_ADMIN_TOKEN"},
		{request(t, "http://"+target+"/metrics", "Authorization", "Bearer"), 401, "FRONTPAGE_ADMIN_TOKEN"},
		{request(t, "http://"+target+"/debug/pprof/heap"), 401, "FRONTPAGE_ADMIN_TOKEN"},
		{request(t, "http://"+target+"/metrics", "Authorization", "bearer "+adminToken), 200, "frontpage_build_info"},
		{basic, 200, "/debug/pprof"},
		{request(t, "http://"+target+"/debug/pprof/goroutine?debug=1", "Authorization", "Bearer "+adminToken), 200, "goroutine profile"},
		{request(t, "http://"+target+"/debug/pprof/cmdline", "Authorization", "Bearer "+adminToken), 404, "Unknown profile"},
		{request(t, s.URL+"/metrics"), 404, ""}, // not on the listener of the site
		{request(t, s.URL+"/debug/pprof/"), 404, ""},
	} {
		if res, body := s.do(http.DefaultClient, each.req); res.StatusCode != each.status || !strings.Contains(body, each.body) {
			t.Errorf("%s %v: got %d %.200s, want %d and %q", each.req.URL.Path, each.req.Header, res.StatusCode, body, each.status, each.body)
		}
	}
	// On a loopback address it needs none, but no page on the web may read it through a name of its own.
	open := freeAddress(t)
	s = start(t, "FRONTPAGE_ADMIN_ADDR="+open)
	for host, status := range map[string]int{open: 200, "localhost:9464": 200, "[::1]": 200, "example.org": 421, "example.org:80": 421, "127.0.0.1.example.org": 421} {
		req := request(t, "http://"+open+"/metrics")
		req.Host = host
		if res, _ := s.do(http.DefaultClient, req); res.StatusCode != status {
			t.Errorf("host %s: got %d, want %d", host, res.StatusCode, status)
		}
	}
}

func TestStartFailsIfMetricsCannotBeServed(t *testing.T) {
	t.Parallel()
	taken := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = taken.Close() }()
	for env, want := range map[string]string{
		"FRONTPAGE_ADMIN_ADDR=0.0.0.0:0":                       "FRONTPAGE_ADMIN_ADDR (--admin-addr): 0.0.0.0:0: without a token only a loopback address",
		"FRONTPAGE_ADMIN_ADDR=:0":                              "without a token only a loopback address",
		"FRONTPAGE_ADMIN_ADDR=nowhere":                         "FRONTPAGE_ADMIN_ADDR (--admin-addr): address nowhere: missing port",
		"FRONTPAGE_ADMIN_ADDR=" + taken.Addr().String():        "FRONTPAGE_ADMIN_ADDR (--admin-addr): listen tcp " + taken.Addr().String() + ": bind: address already in use",
		"FRONTPAGE_ADMIN_TOKEN=short":                          "FRONTPAGE_ADMIN_TOKEN (--admin-token): it has 5 bytes, want at least 16",
		"FRONTPAGE_ADMIN_TOKEN_FILE=" + t.TempDir() + "/token": "FRONTPAGE_ADMIN_TOKEN_FILE (--admin-token-file): open ",
	} {
		if _, stderr, code := programtest.Run(t, []string{env}); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got exit code %d and %s, want an error with %q", env, code, stderr, want)
		}
	}
}
