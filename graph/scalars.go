package graph

import (
	"io"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/endpoint"
	"frontpage/endpoint/plan"
	"frontpage/redisrepo/site"
)

// Scalars checks the values of the schema's scalars.
var Scalars = endpoint.Scalars{"DateTime": checks(UnmarshalDateTime), "URL": checks(UnmarshalURL)}

// checks returns unmarshal without its result.
func checks[T any](unmarshal func(any) (T, error)) func(any) error {
	return func(value any) error {
		_, err := unmarshal(value)
		return err
	}
}

// A scalar has a function that appends it, for package plan, and one that writes the same, for gqlgen.

// AppendArticleID appends an article's global id.
func AppendArticleID(to []byte, id site.ArticleID) []byte {
	return append(id.Append(append(to, '"')), '"')
}

// MarshalArticleID writes an article's global id.
func MarshalArticleID(id site.ArticleID) graphql.Marshaler { return written(AppendArticleID, id) }

// UnmarshalArticleID reads an article's global id, or its bare number.
func UnmarshalArticleID(v any) (site.ArticleID, error) {
	text, err := graphql.UnmarshalID(v) // it may be written as an Int literal
	if err != nil {
		return 0, badInput("an ID is a string or an integer")
	}
	return site.ParseArticleID(text)
}

// AppendURL appends a link.
func AppendURL(to []byte, link string) []byte { return plan.AppendString(to, link) }

// MarshalURL writes a link.
func MarshalURL(link string) graphql.Marshaler { return written(AppendURL, link) }

// UnmarshalURL reads a link without checking it: that is part of posting.
func UnmarshalURL(v any) (string, error) {
	link, ok := v.(string)
	if !ok {
		return "", badInput("a URL is a string")
	}
	return link, nil
}

// AppendDateTime appends a time in UTC with milliseconds, in three digits.
func AppendDateTime(to []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(to, `"`+site.DateTime+`"`)
	}
	hour, minute, second := t.Clock()
	// By digits, since AppendFormat reads its layout again for each time of a page.
	to = appendDigits(append(to, '"'), year/100, year%100)
	to = appendDigits(append(to, '-'), int(month))
	to = appendDigits(append(to, '-'), day)
	to = appendDigits(append(to, 'T'), hour)
	to = appendDigits(append(to, ':'), minute)
	to = appendDigits(append(to, ':'), second)
	milliseconds := t.Nanosecond() / int(time.Millisecond)
	to = append(to, '.', '0'+byte(milliseconds/100)) // #nosec G115 -- one digit
	return append(appendDigits(to, milliseconds%100), 'Z', '"')
}

// appendDigits appends numbers of two digits.
func appendDigits(to []byte, numbers ...int) []byte {
	for _, n := range numbers {
		to = append(to, '0'+byte(n/10), '0'+byte(n%10)) // #nosec G115 -- below 100
	}
	return to
}

// MarshalDateTime writes a time in UTC with milliseconds, in three digits.
func MarshalDateTime(t time.Time) graphql.Marshaler { return written(AppendDateTime, t) }

// UnmarshalDateTime reads a time, as site.ParseTime does.
func UnmarshalDateTime(v any) (time.Time, error) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, badInput("a DateTime is a string")
	}
	t, err := site.ParseTime(text)
	if err != nil {
		return time.Time{}, badInput(err.Error())
	}
	return t, nil
}

// AppendFloat appends a number in digits: 1767323477, not 1.767323477e+09.
func AppendFloat(to []byte, f float64) []byte { return strconv.AppendFloat(to, f, 'f', -1, 64) }

// MarshalFloat writes a number in digits.
func MarshalFloat(f float64) graphql.Marshaler { return written(AppendFloat, f) }

// UnmarshalFloat reads a number.
func UnmarshalFloat(v any) (float64, error) { return graphql.UnmarshalFloat(v) }

// written returns a marshaler that writes what appendTo appends.
func written[T any](appendTo func(to []byte, value T) []byte, value T) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(appendTo(nil, value)) })
}
