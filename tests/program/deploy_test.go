package program_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"frontpage/must"
	"frontpage/programtest"
)

// The program knows every setting that a file in deploy/ sets: with an old name, a setting would have no effect. What runs
// the program names the site, without which others' hosts would get no pages.
func TestDeployedSettingsExist(t *testing.T) {
	t.Parallel()
	help, _, _ := programtest.Run(t, nil, "--help")
	for file, settings := range map[string]*regexp.Regexp{
		"Dockerfile":                         regexp.MustCompile(`(?m)^ENV ([A-Z_]+)=`),
		"frontpage.service":                  regexp.MustCompile(`(?m)^Environment=([A-Z_]+)=`),
		"compose.yaml":                       regexp.MustCompile(`(?m)^      ([A-Z_]+): `),
		"kubernetes/base/kustomization.yaml": regexp.MustCompile(`(?m)^      - ([A-Z_]+)=`),
		"kubernetes/base/deployment.yaml":    regexp.MustCompile(`(?m)^            - name: ([A-Z_]+)$`),
	} {
		text := must.Get(os.ReadFile("../../deploy/" + file))(t)
		found := settings.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("deploy/%s sets nothing", file)
		}
		if !strings.HasPrefix(file, "Dockerfile") && !strings.HasSuffix(file, "deployment.yaml") && !strings.Contains(string(text), "FRONTPAGE_PUBLIC_URL") {
			t.Errorf("deploy/%s does not set FRONTPAGE_PUBLIC_URL", file)
		}
		for _, m := range found {
			ofGrafana := strings.HasPrefix(m[1], "GF_") || m[1] == "PROMETHEUS_URL" || m[1] == "DASHBOARDS"
			if !ofGrafana && !strings.Contains(help, "($"+m[1]+")") && !strings.Contains(help, "($"+strings.TrimSuffix(m[1], "_FILE")+")") {
				t.Errorf("deploy/%s sets %s, which --help does not have", file, m[1])
			}
		}
	}
}
