package plan

import (
	"reflect"
	"sync"
)

// Arguments caches the parsed arguments of an operation for executions with equal variables. The zero value is empty.
// Arguments that a resolver could modify are not cached.
type Arguments struct {
	mu      sync.Mutex
	plan    *variant
	columns []map[string]any // of plan's fields; nil: not kept
}

// get returns the arguments of a field of a plan, or nil.
func (a *Arguments) get(v *variant, f *field) map[string]any {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plan != v {
		return nil
	}
	return a.columns[f.column]
}

// keep keeps the arguments of a field of a plan. Those of an earlier plan, whose document was read again, are dropped.
func (a *Arguments) keep(v *variant, f *field, args map[string]any) {
	if a == nil {
		return
	}
	for _, argument := range args {
		if argument != nil && !isPlain(reflect.TypeOf(argument)) {
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plan != v {
		a.plan, a.columns = v, make([]map[string]any, v.columns)
	}
	a.columns[f.column] = args
}

// isPlain reports whether values of a type are numbers, texts, pointers to these or structs of them: resolvers modify none.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return isPlain(t.Elem())
	case reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Array:
		return false
	default:
		return true
	}
}
