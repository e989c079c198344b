package graph_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// variable is a variable of a document, wherever it has the type and the name of its argument.
type variable struct {
	name, where string
	wanted      string // the type of the argument
	definition  *ast.Type
	initial     *any // the default
	omittable   bool
}

// A value of a document or a request is nil, a bool, a string, a json.Number, or one of:
type (
	word   string // of an enum
	list   []any
	object []member
	member struct {
		name  string
		value any
	}
)

// literal writes a value as a document has it.
func literal(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case word:
		return string(v)
	case *variable:
		return "$" + v.name
	case list:
		elements := make([]string, len(v))
		for i, element := range v {
			elements[i] = literal(element)
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case object:
		members := make([]string, len(v))
		for i, m := range v {
			members[i] = m.name + ": " + literal(m.value)
		}
		return "{" + strings.Join(members, " ") + "}"
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
}

// MarshalJSON writes the members of an object in order.
func (o object) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(o))
	for i, m := range o {
		text, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		parts[i] = fmt.Sprintf("%q:%s", m.name, text)
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

func definitionsOf(variables []*variable) string {
	if len(variables) == 0 {
		return ""
	}
	parts := make([]string, len(variables))
	for i, v := range variables {
		parts[i] = "$" + v.name + ": " + v.definition.String()
		if v.initial != nil {
			parts[i] += " = " + literal(*v.initial)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// value makes a value for an argument or a part of one. where is its name. Without uses it has no variables.
func (a *author) value(u *uses, t *ast.Type, where string, hasDefault bool) any {
	if u != nil && a.chance(3) {
		return a.variable(u, t, where, hasDefault)
	}
	if !t.NonNull && a.chance(10) {
		return nil
	}
	if t.Elem != nil {
		if a.chance(8) { // one value stands for a list of one
			return a.value(nil, nonNull(t.Elem), where, false)
		}
		values := list{}
		for range a.random.IntN(5) {
			values = append(values, a.value(u, t.Elem, where, false))
		}
		return values
	}
	switch named := a.schema.Types[t.NamedType]; named.Kind {
	case ast.Enum:
		return word(pick(a.random, named.EnumValues).Name)
	case ast.InputObject:
		members := object{}
		for _, field := range named.Fields {
			if field.Type.NonNull && field.DefaultValue == nil || a.chance(2) {
				a.written[named.Name+"."+field.Name] = true
				members = append(members, member{field.Name, a.value(u, field.Type, field.Name, field.DefaultValue != nil)})
			}
		}
		a.random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return members
	default:
		return a.samples.scalar(a.random, t.NamedType, where)
	}
}

func nonNull(t *ast.Type) *ast.Type {
	other := *t
	other.NonNull = true
	return &other
}

// variable returns a variable that may be at a place, old or new: its type allows null where a default, its own or
// the argument's, takes the place of a value that is missing.
func (a *author) variable(u *uses, t *ast.Type, where string, hasDefault bool) *variable {
	for _, v := range a.variables {
		if v.wanted == t.String() && v.where == where && a.chance(2) {
			u.variables[v] = true
			return v
		}
	}
	of := *t
	v := &variable{name: fmt.Sprint(pick(a.random, []string{"v", "id", "null_"}), len(a.variables)), where: where, wanted: t.String(), definition: &of}
	switch {
	case !t.NonNull && a.chance(4):
		of.NonNull = true
	case t.NonNull && hasDefault && a.chance(2):
		of.NonNull, v.omittable = false, true
	case t.NonNull && a.chance(2):
		of.NonNull = a.chance(3)
		initial := a.value(nil, t, where, false)
		v.initial, v.omittable = &initial, true
	case !t.NonNull:
		v.omittable = true
		if a.chance(3) {
			initial := a.value(nil, t, where, false)
			v.initial = &initial
		}
	}
	a.variables = append(a.variables, v)
	u.variables[v] = true
	return v
}

// values makes the values of a document's variables for one request.
func (a *author) values(d document) object {
	values := object{}
	for _, v := range d.variables {
		if v.omittable && a.chance(3) {
			continue
		}
		value := a.value(nil, v.definition, v.where, false)
		rarity := 6
		if strings.HasSuffix(v.wanted, "!") { // null makes the request invalid
			rarity = 100
		}
		if !v.definition.NonNull && a.chance(rarity) {
			value = nil
		}
		if w, ok := value.(word); ok {
			value = string(w)
		}
		values = append(values, member{v.name, value})
	}
	return values
}

// samples are values that mean something in a store, by the name of the argument.
type samples struct {
	ids    []string
	texts  map[string][]string
	cursor map[string]bool // whether a text of this name is a cursor

	mistyped string // a key to be of another type; empty: none
}

// rarity returns n if one of n fields has an optional argument with this name. A cursor is valid for one list only.
func (s samples) rarity(argument string) int {
	if s.cursor[argument] {
		return 12
	}
	return 3
}

var integers = []json.Number{"1", "1", "1", "2", "2", "3", "3", "4", "5", "10", "25", "100"}

var oddIntegers = []json.Number{"0", "-1", "101", "2147483647", "-2147483648"}

func (s samples) scalar(random *rand.Rand, of, where string) any {
	switch of {
	case "Boolean":
		return random.IntN(2) == 0
	case "Int":
		if random.IntN(25) == 0 {
			return pick(random, oddIntegers)
		}
		return pick(random, integers)
	case "Float":
		return json.Number(fmt.Sprint(random.NormFloat64()))
	case "ID":
		id := pick(random, s.ids)
		if number := strings.TrimPrefix(id, "article:"); number != id && random.IntN(4) == 0 {
			return json.Number(number)
		}
		return id
	}
	if texts := s.texts[where]; texts != nil && random.IntN(20) > 0 {
		return pick(random, texts)
	}
	return pick(random, s.texts[""])
}
