package assembly

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings declares the settings that the fields of a struct are tagged with, in their order:
//
//	Workers int           `set:"workers" default:"16" min:"1" max:"512" doc:"webhooks in flight"`
//	Timeout time.Duration `set:"timeout" default:"10s" min:"10ms" max:"5m" doc:"..."`
//	Memory  int64         `set:"memory" default:"256MiB" min:"1KiB" max:"1TiB" doc:"..."`
//	Filter  bool          `set:"filter" default:"false" doc:"..."`
//	Foreign string        `set:"foreign" values:"404,403" doc:"..."`
//	URL     string        `set:"url" default:"" doc:"..."`
//
// An int64 is a size in bytes, and the first of the values is the default. A further tag
// tune:"true" is for Setting.Tune. The fields of structs within it count in their place; fields
// without the tag are none of the settings. Bind sets the same fields. Parts.Check finds tags that
// contradict each other.
func Settings[T any]() (out []Setting) {
	for _, field := range tagged(reflect.TypeFor[T]()) {
		if field.Tag.Get("set") != "" {
			out = append(out, settingOf(field))
		}
	}
	return out
}

// Defaults returns a struct whose fields tagged set have the defaults of their tags; those of seams
// and those without a tag are zero. A caller without a choice, such as the test of one part of a
// service, starts from it. It panics if a default cannot be read.
func Defaults[T any]() (config T) {
	v := reflect.ValueOf(&config).Elem()
	for _, field := range tagged(v.Type()) {
		if s := settingOf(field); s.Name != "" {
			write(v.FieldByIndex(field.Index), s.Name, s.Default)
		}
	}
	return config
}

// Bind sets a struct's fields tagged set to the settings, and those tagged seam to implementations.
// It panics if a field's name or kind is not the declared one, whatever is chosen: every test that
// starts the service finds that.
func Bind[T any](c Choice) (config T) {
	v := reflect.ValueOf(&config).Elem()
	for _, field := range tagged(v.Type()) {
		name := field.Tag.Get("set") + field.Tag.Get("seam")
		text := c.Get(name)
		if err := c.fits(name, kinds[field.Type]); err != nil {
			panic(fmt.Sprintf("assembly: setting %s: %v", name, err))
		}
		write(v.FieldByIndex(field.Index), name, text)
	}
	return config
}

// write sets a field to what text says in the form of the field's kind, or panics.
func write(into reflect.Value, name, text string) {
	var err error
	switch parse := numbers[kinds[into.Type()]]; {
	case parse != nil:
		var n int64
		n, err = parse(text)
		into.SetInt(n)
	case into.Kind() == reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		into.SetBool(b)
	default:
		into.SetString(text)
	}
	if err != nil {
		panic(fmt.Sprintf("assembly: setting %s: %v", name, err))
	}
}

// fits compares the kind of a field with the declared one, so that a mistake is found at the first
// start, whatever the value. A seam, and a choice of values, are texts.
func (c Choice) fits(name, kind string) error {
	declared := "text"
	for _, s := range c.parts.Settings {
		if s.Name == name && s.Kind != "one-of" {
			declared = s.Kind
		}
	}
	if kind != declared {
		return fmt.Errorf("it is declared as %s and read as %q", declared, kind)
	}
	return nil
}

// tagged lists the fields of a struct that have a tag, those of structs within it in their place.
func tagged(t reflect.Type) (out []reflect.StructField) {
	for _, field := range reflect.VisibleFields(t) {
		switch {
		case field.Tag.Get("set")+field.Tag.Get("seam") != "":
			out = append(out, field)
		case field.Type.Kind() == reflect.Struct && !field.Anonymous:
			for _, within := range tagged(field.Type) {
				within.Index = append(slices.Clone(field.Index), within.Index...)
				out = append(out, within)
			}
		}
	}
	return out
}

// kinds are the kinds of settings by the types of their fields.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[int]():           "int",
	reflect.TypeFor[int64]():         "bytes",
	reflect.TypeFor[time.Duration](): "duration",
	reflect.TypeFor[bool]():          "bool",
	reflect.TypeFor[string]():        "text",
}

func settingOf(field reflect.StructField) Setting {
	get := field.Tag.Get
	s := Setting{Name: get("set"), Doc: get("doc"), Kind: kinds[field.Type], Default: get("default"), Min: get("min"), Max: get("max"), Tune: get("tune") == "true"}
	if values := get("values"); values != "" {
		s.Kind, s.Values = "one-of", strings.Split(values, ",")
		s.Default = s.Values[0]
	}
	return s
}
