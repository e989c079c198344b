package site

import (
	_ "embed"
	"strings"
	"sync"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

//go:embed tracking.txt
var trackingList string

// hostRule are the parameters that are for tracking on the pages of a host whose paths begin with path.
type hostRule struct {
	path  string
	names map[string]bool
}

// trackingRules returns the rules of tracking.txt: parameters on all hosts, and those on single hosts. A host shop.* is
// that name in every country.
var trackingRules = sync.OnceValues(func() (everywhere map[string]bool, hosts map[string][]hostRule) {
	everywhere, hosts = map[string]bool{}, map[string][]hostRule{}
	for line := range strings.Lines(trackingList) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		where, parameters, single := strings.Cut(line, " : ")
		names := map[string]bool{}
		for _, name := range strings.Fields(parameters) {
			names[name] = true
		}
		for _, word := range strings.Fields(where) {
			if !single {
				everywhere[word] = true
				continue
			}
			host, path, _ := strings.Cut(word, "/")
			hosts[host] = append(hosts[host], hostRule{path, names})
		}
	}
	return everywhere, hosts
})

// isTracking reports whether a parameter of a page only says where a reader came from: by the list, or because its name
// is ref or source and its value a host. Other values of these may be a branch or a page.
func isTracking(host, path, parameter string) bool {
	name, value, _ := strings.Cut(parameter, "=")
	name = strings.ToLower(name)
	family, _, hasFamily := strings.Cut(name, "_")
	everywhere, hosts := trackingRules()
	if everywhere[name] || hasFamily && everywhere[family+"_*"] || (name == "ref" || name == "source") && namesHost(value) {
		return true
	}
	for rest := host; rest != ""; {
		label, above, _ := strings.Cut(rest, ".")
		rules := hosts[rest]
		if everyCountry := hosts[label+".*"]; everyCountry != nil && isSuffix(above) {
			rules = everyCountry
		}
		for _, rule := range rules {
			if rule.names[name] && (rule.path == "" || strings.HasPrefix(path+"/", rule.path+"/")) {
				return true
			}
		}
		rest = above
	}
	return false
}

// namesHost reports whether the value of a parameter is the name of a host that can exist: v1.2 and feature.x are none.
// Two words of which the second is the ending of a file, such as README.md, rather name a page.
func namesHost(value string) bool {
	host, err := idna.Lookup.ToASCII(unescape(value))
	if err != nil {
		return false
	}
	first, above, _ := strings.Cut(strings.TrimSuffix(host, "."), ".")
	switch above {
	case "md", "py", "zip":
		return false
	}
	return first != "" && (isSuffix(above) || isSuffix(above[strings.LastIndexByte(above, '.')+1:]))
}

// isSuffix reports whether names are registered under a domain, such as de or co.uk, or it is reserved for examples.
func isSuffix(domain string) bool {
	suffix, known := publicsuffix.PublicSuffix(domain)
	return domain != "" && suffix == domain && (known || domain == "example")
}
