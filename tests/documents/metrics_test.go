package documents_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"frontpage/tests/require"

	"github.com/goccy/go-yaml"
)

// rules is a file of rules for Prometheus.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// dashboard is a dashboard of Grafana.
type dashboard struct {
	Panels []struct {
		Title, Type string
		Targets     []struct{ Expr string }
	}
}

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(frontpage_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|")
	metricName = regexp.MustCompile(`\b(?:frontpage|go|process)_[a-z_]+|\bup\b`)
	labelOf    = regexp.MustCompile(`(frontpage_[a-z_]+)\{([^}]*)\}`)
	matched    = regexp.MustCompile(`([a-z]+)\s*(?:=|!)`)
)

// common are metrics that every program with Prometheus' client has, or every target of a scrape.
var common = map[string]bool{
	"up": true, "process_start_time_seconds": true, "process_open_fds": true, "process_max_fds": true, "process_cpu_seconds_total": true,
	"process_resident_memory_bytes": true, "go_memstats_heap_alloc_bytes": true, "go_goroutines": true,
}

// documentedMetrics returns the labels of each metric of docs/metrics.md, and those of their series.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		found[m[1]] = m[3]
		if m[2] == "histogram" {
			found[m[1]+"_bucket"], found[m[1]+"_count"], found[m[1]+"_sum"] = m[3]+"`le`", m[3], m[3]
		}
	}
	return found
}

// checkExpression checks that an expression uses metrics that exist, with labels that they have.
func checkExpression(t *testing.T, of, expression string, known map[string]string, used map[string]bool) {
	t.Helper()
	for _, name := range metricName.FindAllString(expression, -1) {
		used[name] = true
		if _, ok := known[name]; !ok && !common[name] {
			t.Errorf("%s uses %s, which does not exist", of, name)
		}
	}
	for _, m := range labelOf.FindAllStringSubmatch(expression, -1) {
		for _, label := range matched.FindAllStringSubmatch(m[2], -1) {
			if label[1] != "job" && label[1] != "instance" && !strings.Contains(known[m[1]], "`"+label[1]+"`") {
				t.Errorf("%s: %s has no label %s", of, m[1], label[1])
			}
		}
	}
}

// Each rule and each panel is about metrics that exist. Each alert has a severity, a summary and an entry of the runbook,
// and the dashboard shows every metric.
func TestAlertsAndDashboardUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	known, used := documentedMetrics(t), map[string]bool{}
	var alerts rules
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/prometheus/alerts.yml")), &alerts))
	tests, entries, n := read(t, "deploy/prometheus/alerts_test.yml"), read(t, "docs/runbook.md"), 0
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			n++
			checkExpression(t, rule.Alert, rule.Expr, known, used)
			if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("%s has severity %q, want critical or warning", rule.Alert, severity)
			}
			if rule.Annotations["summary"] == "" || rule.Annotations["runbook"] != "docs/runbook.md#"+strings.ToLower(rule.Alert) {
				t.Errorf("%s has annotations %v, want a summary and its entry of the runbook", rule.Alert, rule.Annotations)
			}
			if !strings.Contains(entries, "\n## "+rule.Alert+"\n") {
				t.Errorf("docs/runbook.md has no entry of %s", rule.Alert)
			}
			if !strings.Contains(tests, "alertname: "+rule.Alert+"\n") {
				t.Errorf("deploy/prometheus/alerts_test.yml does not test %s", rule.Alert)
			}
		}
	}
	if entries := strings.Count(entries, "\n## "); n < 10 || entries != n {
		t.Errorf("there are %d alerts and %d entries of the runbook, want as many, at least 10", n, entries)
	}
	var board dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, "deploy/grafana/frontpage.json")), &board))
	used = map[string]bool{}
	for _, panel := range board.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			checkExpression(t, "the panel "+panel.Title, target.Expr, known, used)
		}
	}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		if name := m[1]; !used[name] && !used[name+"_bucket"] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
