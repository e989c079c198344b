package graph_test

import (
	"encoding/json"
	"slices"
	"testing"

	"frontpage/tests/sitetest"
)

// specified are the locations of directives in the specification of September 2025.
var specified = []string{
	"QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT", "VARIABLE_DEFINITION",
	"SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION", "ARGUMENT_DEFINITION", "INTERFACE", "UNION", "ENUM", "ENUM_VALUE",
	"INPUT_OBJECT", "INPUT_FIELD_DEFINITION",
}

// build_client_schema of graphql-core stops at a location that it does not know.
func TestIntrospectionHasTheLocationsOfTheSpecification(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	var answer struct {
		Data struct {
			Schema struct {
				Directives []struct {
					Name      string
					Locations []string
				}
			} `json:"__schema"`
			Type struct{ EnumValues []struct{ Name string } } `json:"__type"`
		}
	}
	text := s.AskText("", `{ __schema { directives { name locations } } __type(name: "__DirectiveLocation") { enumValues { name } } }`)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Data.Schema.Directives) < 4 {
		t.Fatalf("got %v and %s, want directives", err, text)
	}
	for _, directive := range answer.Data.Schema.Directives {
		for _, location := range directive.Locations {
			if !slices.Contains(specified, location) {
				t.Errorf("@%s: got the location %s, which the specification does not have", directive.Name, location)
			}
		}
	}
	var values []string
	for _, value := range answer.Data.Type.EnumValues {
		values = append(values, value.Name)
	}
	if !slices.Equal(values, specified) {
		t.Errorf("__DirectiveLocation: got %q, want %q", values, specified)
	}
}
