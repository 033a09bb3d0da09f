package daemon

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Settings declares the settings that the fields of a struct are tagged with, in their order:
//
//	Workers int           `set:"workers" default:"16" min:"1" max:"512" doc:"webhooks in flight"`
//	Timeout time.Duration `set:"timeout" default:"10s" min:"10ms" max:"5m" doc:"of an attempt"`
//	Memory  int64         `set:"memory" default:"256MiB" min:"1KiB" max:"1TiB" doc:"bytes of pending notices"`
//	Filter  bool          `set:"filter" default:"false" doc:"..."`
//	Foreign string        `set:"foreign" values:"404,403" doc:"..."`
//	URL     string        `set:"url" default:"" doc:"..."`
//
// An int64 is a size in bytes, and the first of the values is the default. Embedded structs count as if their fields stood in
// their place; fields without the tag are none of the settings. Bind sets the same fields. A tag that cannot be read is
// a mistake in the program and panics.
func Settings[T any]() (out []Setting) {
	for field := range tagged(reflect.TypeFor[T]()) {
		if field.Tag.Get("set") != "" {
			out = append(out, settingOf(field))
		}
	}
	return out
}

// Bind sets the fields of a struct: those tagged set to the settings' values, and those tagged seam to the names of the
// implementations.
func Bind[T any](c Choice) (config T) {
	v := reflect.ValueOf(&config).Elem()
	for field := range tagged(v.Type()) {
		name := field.Tag.Get("set") + field.Tag.Get("seam")
		if name == "" {
			continue
		}
		var value any
		switch v.FieldByIndex(field.Index).Interface().(type) {
		case int:
			value = c.Int(name)
		case int64:
			value = c.Bytes(name)
		case bool:
			value = c.Bool(name)
		case time.Duration:
			value = c.Duration(name)
		default:
			value = c.Get(name)
		}
		v.FieldByIndex(field.Index).Set(reflect.ValueOf(value))
	}
	return config
}

// tagged yields the fields of a struct, those of embedded structs in their place.
func tagged(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(t) {
			if !field.Anonymous && !yield(field) {
				return
			}
		}
	}
}

func settingOf(field reflect.StructField) Setting {
	tag := field.Tag
	name, value, doc := tag.Get("set"), tag.Get("default"), tag.Get("doc")
	switch reflect.Zero(field.Type).Interface().(type) {
	case int:
		return Int(name, parseTag(field, "default", parseWhole), parseTag(field, "min", parseWhole), parseTag(field, "max", parseWhole), doc)
	case int64:
		return Bytes(name, parseTag(field, "default", parseBytes), parseTag(field, "min", parseBytes), parseTag(field, "max", parseBytes), doc)
	case time.Duration:
		return Duration(name, parseTag(field, "default", time.ParseDuration), parseTag(field, "min", time.ParseDuration), parseTag(field, "max", time.ParseDuration), doc)
	case bool:
		return Bool(name, parseTag(field, "default", strconv.ParseBool), doc)
	case string:
		if values, ok := tag.Lookup("values"); ok {
			return OneOf(name, strings.Split(values, ","), doc)
		}
		return Text(name, value, nil, doc)
	}
	panic(fmt.Sprintf("daemon: setting %s: there are none of type %v", name, field.Type))
}

func parseTag[T any](field reflect.StructField, key string, parse func(string) (T, error)) T {
	v, err := parse(field.Tag.Get(key))
	if err != nil {
		panic(fmt.Sprintf("daemon: field %s: tag %s: %v", field.Name, key, err))
	}
	return v
}

// parseWhole reads a whole number as Go writes it, such as 65_536.
func parseWhole(text string) (int, error) {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	return int(n), err
}
