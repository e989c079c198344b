package main

import (
	_ "embed"
	"fmt"
	"go/types"
	"path/filepath"
	"strings"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/vektah/gqlparser/v2/ast"
)

// bindings is the plugin. It writes plan_gen.go, which binds each field that package plan can execute. Other fields
// are left to gqlgen's executor; the file names them.
type bindings struct{}

//go:embed bindings.gotpl
var template string

// Name implements plugin.Plugin.
func (bindings) Name() string { return "bindings" }

// GenerateCode implements plugin.CodeGenerator.
func (bindings) GenerateCode(data *codegen.Data) error {
	exec := data.Config.Exec
	return templates.Render(templates.Options{
		PackageName:     exec.Package,
		Filename:        filepath.Join(filepath.Dir(exec.Filename), "plan_gen.go"),
		Template:        template,
		Data:            data,
		Funcs:           map[string]any{"binding": binding, "implementors": implementors},
		GeneratedHeader: true,
		Packages:        data.Config.Packages,
	})
}

// binding returns the Go expression that binds a field, or "" if package plan cannot execute it.
func binding(f *codegen.Field) string {
	if f.HasDirectives() || f.TypeReference.IsRoot || f.UsesSubscriptionContext() {
		return ""
	}
	for _, argument := range f.Args {
		if len(argument.ImplDirectives()) > 0 {
			return ""
		}
	}
	out := outOf(f.TypeReference)
	switch {
	case f.Object.Stream && out != "":
		return fmt.Sprintf("plan.Source(%s)", out)
	case f.IsResolver && out != "":
		return resolver(f, out)
	case f.IsResolver, len(f.Args) > 0, f.MethodHasContext, f.IsMap(), f.HasHaser, f.VOkFunc, f.IsMethod() && !f.NoErr:
		return ""
	}
	return reader(f, out)
}

// reader binds a field that is read from its object.
func reader(f *codegen.Field, out string) string {
	result, value := ref(f.TypeReference.GO), "obj."+f.GoFieldName
	if f.IsMethod() {
		value += "()"
	}
	if object := f.TypeReference; out == "" && object.IsStruct() && object.Definition.Kind == ast.Object && !f.IsMethod() {
		// An object in another one is passed on by its address.
		out, result, value = fmt.Sprintf("plan.Object[%s]()", result), "*"+result, "&"+value
	}
	if out == "" {
		return ""
	}
	return fmt.Sprintf("plan.Read(func(obj %s) %s { return %s }, %s)", ref(f.Object.Reference()), result, value, out)
}

// resolver binds a field that has a resolver.
func resolver(f *codegen.Field, out string) string {
	kind, parameter, result := "Each", "obj any", ref(f.TypeReference.GO)
	invocation := f.ShortInvocation()
	switch {
	case f.IsBatch() && !f.Object.Root:
		kind, parameter, result = "Batch", "objs []"+ref(f.Object.Reference()), "[]"+result
		invocation = fmt.Sprintf("%s().%s(%s)", templates.UcFirst(f.Object.Name), f.GoFieldName, f.BatchCallArgs("objs", ""))
	case !f.Object.Root:
		parameter = "obj " + ref(f.Object.Reference())
	}
	fieldContext, parse := "", ""
	if len(f.Args) > 0 {
		fieldContext = "fc := graphql.GetFieldContext(ctx)\n"
		parse = fmt.Sprintf(".Args(ec.%s)", f.ArgsFunc())
	}
	return fmt.Sprintf("plan.%s(func(ctx context.Context, %s) (%s, error) {\n%sreturn resolvers.%s\n}, %s)%s",
		kind, parameter, result, fieldContext, invocation, out, parse)
}

// outOf returns the Go expression for what becomes of a Go value, or "" if package plan has none.
func outOf(t *config.TypeReference) string {
	if t.IsPtrToSlice() || t.IsPtrToPtr() || t.IsPtrToIntf() {
		return ""
	}
	one := t
	if t.IsSlice() {
		if one = t.Elem(); one.IsSlice() || one.IsPtrToPtr() || one.IsPtrToIntf() {
			return ""
		}
	}
	if t.Definition.IsLeafType() {
		return leaf(t, one)
	}
	plural := ""
	if t.IsSlice() {
		plural = "s"
	}
	switch pointer, isPointer := one.GO.(*types.Pointer); {
	case t.Definition.Kind == ast.Object && isPointer:
		return fmt.Sprintf("plan.Object%s[%s]()", plural, ref(pointer.Elem()))
	case t.Definition.IsAbstractType() && types.IsInterface(one.GO):
		return fmt.Sprintf("plan.Abstract%s[%s]()", plural, ref(one.GO))
	}
	return ""
}

// leaf is outOf for a leaf, or for a list of the leaf one.
func leaf(t, one *config.TypeReference) string {
	if one.Marshaler == nil || one.IsContext || one.IsTargetNilable() {
		return ""
	}
	function, neverNull := appender(one)
	switch _, optional := one.GO.(*types.Pointer); {
	case function == "":
		return ""
	case !t.IsSlice() && optional:
		return fmt.Sprintf("plan.OptionalLeaf(%s)", function)
	case !t.IsSlice():
		return fmt.Sprintf("plan.Leaf(%s)", function)
	case optional || !neverNull:
		return ""
	}
	return fmt.Sprintf("plan.Leaves(%s, %v)", function, !t.GQL.NonNull)
}

// ofGqlgen are the functions of package plan that append what a function of gqlgen writes.
var ofGqlgen = map[string]string{
	"MarshalString":  "plan.AppendString",
	"MarshalID":      "plan.AppendString",
	"MarshalInt":     "plan.AppendInt",
	"MarshalInt32":   "plan.AppendInt",
	"MarshalInt64":   "plan.AppendInt",
	"MarshalBoolean": "plan.AppendBoolean",
}

// appender returns a function that appends a leaf, empty without one, and whether that is never null. For a function MarshalX
// of this package it is AppendX, which writes the same without an allocation.
func appender(t *config.TypeReference) (function string, neverNull bool) {
	value := t.GO
	if pointer, ok := value.(*types.Pointer); ok {
		value = pointer.Elem()
	}
	known := ""
	if t.Marshaler.Pkg().Path() == "github.com/99designs/gqlgen/graphql" {
		known = ofGqlgen[t.Marshaler.Name()]
	}
	appendX := t.Marshaler.Pkg().Scope().Lookup("Append" + strings.TrimPrefix(t.Marshaler.Name(), "Marshal"))
	switch {
	case known != "" && t.HasEnumValues():
		return fmt.Sprintf("func(to []byte, v %s) []byte { return %s(to, %s[v]) }", ref(value), known, t.EnumMarshalVar(false)), true
	case known != "":
		return fmt.Sprintf("%s[%s]", known, ref(value)), true
	case appendX != nil && t.CastType == nil && !t.HasEnumValues():
		return templates.Call(appendX.(*types.Func)), false
	}
	return "", false // gqlgen executes what selects it
}

// implementors returns the types of an interface or union, or nil if package plan cannot tell them apart.
func implementors(i *codegen.Interface) []codegen.InterfaceImplementor {
	for _, implementor := range i.Implementors {
		if !implementor.TakeRef && !implementor.CanBeNil() {
			return nil
		}
	}
	return i.Implementors
}

func ref(t types.Type) string { return templates.CurrentImports.LookupType(t) }
