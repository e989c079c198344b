package endpoint_test

import (
	"errors"
	"testing"
	"time"

	"frontpage/endpoint"
)

func TestDefaultOptionsAreValid(t *testing.T) {
	t.Parallel()
	if err := endpoint.DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesTheOptionThatIsOutOfRange(t *testing.T) {
	t.Parallel()
	for option, change := range map[string]func(*endpoint.Options){
		"BodyLimit":          func(o *endpoint.Options) { o.BodyLimit = 0 },
		"Timeout":            func(o *endpoint.Options) { o.Timeout = time.Microsecond },
		"Origins":            func(o *endpoint.Options) { o.Origins = []string{"*", "example.org"} },
		"Limits.Tokens":      func(o *endpoint.Options) { o.Limits.Tokens = 0 },
		"Limits.Depth":       func(o *endpoint.Options) { o.Limits.Depth = 0 },
		"Limits.Aliases":     func(o *endpoint.Options) { o.Limits.Aliases = -1 },
		"Limits.RootFields":  func(o *endpoint.Options) { o.Limits.RootFields = 0 },
		"Limits.Directives":  func(o *endpoint.Options) { o.Limits.Directives = -1 },
		"Limits.Fields":      func(o *endpoint.Options) { o.Limits.Fields = 0 },
		"Limits.Cost":        func(o *endpoint.Options) { o.Limits.Cost = 0 },
		"Limits.PageSize":    func(o *endpoint.Options) { o.Limits.PageSize = 0 },
		"Streams.Ping":       func(o *endpoint.Options) { o.Streams.Ping = 99 * time.Millisecond },
		"Streams.PerAddress": func(o *endpoint.Options) { o.Streams.PerAddress = 0 },
		"Streams.PerViewer":  func(o *endpoint.Options) { o.Streams.PerViewer = 0 },
		"Streams.Operations": func(o *endpoint.Options) { o.Streams.Operations = 0 },
		"Rates.Cost":         func(o *endpoint.Options) { o.Rates.Cost.Most = -1 },
		"Rates.Votes":        func(o *endpoint.Options) { o.Rates.Votes = endpoint.Rate{Most: 1, Window: time.Second - 1} },
		"Rates.Posts": func(o *endpoint.Options) {
			o.Rates.Posts = endpoint.Rate{Most: endpoint.MaxRate + 1, Window: time.Second}
		},
		"Rates.Changes":   func(o *endpoint.Options) { o.Rates.Changes.Most = 1 },
		"Rates.Addresses": func(o *endpoint.Options) { o.Rates.Addresses = 0 },
	} {
		options := endpoint.DefaultOptions()
		change(&options)
		var invalid *endpoint.OptionError
		if err := options.Validate(); !errors.As(err, &invalid) || invalid.Option != option {
			t.Errorf("%s: got %v, want an OptionError for it", option, err)
		}
	}
}
