package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"dyno/parts/redact"
)

// Record returns a copy of a record in which no text has a secret. Fields that JSON leaves out are
// shared with the original.
func Record[T any](record T) T {
	return copied(reflect.ValueOf(&record).Elem()).Interface().(T)
}

var (
	raw  = reflect.TypeFor[json.RawMessage]()
	args = reflect.TypeFor[[]string]()
)

func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch {
	case v.Type() == raw:
		out.SetBytes(rawText(v.Bytes()))
	case v.Type() == args && !v.IsNil():
		out.Set(reflect.ValueOf(Args(v.Interface().([]string))))
	case v.Kind() == reflect.String:
		out.SetString(Text(v.String()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				out.Field(i).Set(copied(v.Field(i)))
			}
		}
	case (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil():
		within := copied(v.Elem())
		if v.Kind() == reflect.Pointer {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(within)
			break
		}
		out.Set(within)
	case v.Kind() == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(copied(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, member(key, v.MapIndex(key)))
		}
	}
	return out
}

// member returns the copy of a map's value. It replaces the value if its key marks a secret.
func member(key, value reflect.Value) reflect.Value {
	text := value
	if text.Kind() == reflect.Interface {
		text = text.Elem()
	}
	if key.Kind() == reflect.String && text.Kind() == reflect.String {
		return reflect.ValueOf(Text(redact.Setting(key.String(), text.String()))).Convert(text.Type())
	}
	return copied(value)
}

// rawText redacts JSON: the assembly that a target's agent published.
func rawText(text []byte) []byte {
	var decoded any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&decoded) != nil || decoded == nil {
		return text
	}
	clean := Record(decoded)
	if reflect.DeepEqual(clean, decoded) {
		return text
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(clean) != nil {
		return text
	}
	return []byte(strings.TrimSpace(out.String()))
}
