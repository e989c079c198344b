package wire

import (
	"slices"
	"strings"
	"testing"
)

func TestScriptHeaders(t *testing.T) {
	luaSources["twice.lua"] = "-- twice returns 2 x.\nlocal function twice(x)\n  return 2 * x -- here\nend\n"
	luaSources["four.lua"] = "-- uses twice\n\nlocal function four(x) return twice(twice(x)) end\n"
	for header, want := range map[string]string{
		"-- KEY a  x\n-- ARG b  x":                     "local a, b = KEYS[1], ARGV[1]",
		"-- uses twice\n-- KEYS one  x\n-- ARGS two x": "local function twice(x) return 2 * x end local first_one, first_two = 1, 1",
		"-- uses four twice\n-- ARG a  x": "local function twice(x) return 2 * x end local function four(x) return twice(twice(x)) end " +
			"local a = ARGV[1]",
		"-- KEY a  x\n-- KEY [b]  x\n-- KEYS c  x":     "local a, b, first_c = KEYS[1], KEYS[2], 3",
		"-- KEY a  x\n-- KEY a  x":                     "panic",
		"-- KEY a  x\n-- ARG first_b  x\n-- ARGS b  x": "panic",
		"-- KEYS a  x\n-- KEY b  x":                    "panic",
		"-- KEY [a]  x\n-- KEY b  x":                   "panic",
		"-- KEY a":                                     "panic",
		"-- KEY A  x":                                  "panic",
		"-- ARG 2  x":                                  "panic",
		"-- uses three\n-- KEY a  x":                   "panic",
		"-- words":                                     "panic",
		"":                                             "panic",
	} {
		source := strings.TrimPrefix(header+"\n-- The end.\n\nreturn a\n", "\n")
		luaSources["test.lua"] = source
		text := func() (text string) {
			defer func() {
				if recover() != nil {
					text = "panic"
				}
			}()
			return compose("test.lua", nil).text
		}()
		if want != "panic" {
			want = strings.Replace(source, "-- The end.", want, 1) // on the same line
		}
		if text != want {
			t.Errorf("%q becomes %q, want %q", header, text, want)
		}
	}
	for name := range luaSources {
		if slices.Contains([]string{"twice.lua", "four.lua", "test.lua"}, name) {
			delete(luaSources, name)
		}
	}
}
