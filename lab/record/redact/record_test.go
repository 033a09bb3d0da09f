package redact_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/record/redact"
)

const planted = "dialing nats://ops:s3cret@127.0.0.1:4222?token=s3cret; password=s3cret"

// plant writes a secret into each text of a record.
func plant(v reflect.Value, deep int) {
	switch {
	case deep == 0:
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"settings":{"url":"nats://ops:s3cret@h","api_key":"s3cret","note":"a \" password=s3cret"}}`))
	case v.Kind() == reflect.String:
		v.SetString(planted)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plant(v.Field(i), deep-1)
			}
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), deep-1)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			plant(v.Index(i), deep-1)
		}
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		value := reflect.New(v.Type().Elem()).Elem()
		plant(value, deep-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("api_key").Convert(v.Type().Key()), value)
	}
}

func TestRecord(t *testing.T) {
	const deep = 8
	for _, v := range []any{new(record.Run), new(record.Experiment), new(record.Slice)} {
		plant(reflect.ValueOf(v).Elem(), deep)
		before, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var clean any
		switch v := v.(type) {
		case *record.Run:
			clean = redact.Record(*v)
		case *record.Experiment:
			clean = redact.Record(*v)
		case *record.Slice:
			clean = redact.Record(*v)
		}
		text, err := json.Marshal(clean)
		if err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("%T: %v: %s", v, err, text)
		}
		if after, _ := json.Marshal(v); string(after) != string(before) || !strings.Contains(string(after), "s3cret") {
			t.Errorf("%T: the record itself was changed", v)
		}
	}
}

// A scenario as people write them.
func TestScenario(t *testing.T) {
	text := redact.Scenario(`companions:
  a: {command: [svc, --api-key, s3cret, '--token', "s3cret x", -v]}
  b:
    command: [sh, -c, "svc --auth-key s3cret --dsn \"password='s3cret x' user=y\""]
    args:
      - --requirepass-token
      - s3cret
target: {command: [svc, --api-key=s3cret], env: {DB_PASSWORD: s3cret, DATABASE_URL: "postgres://u:s3cret@h/db"}}
load:
  url: http://h/?token=s3cret
  headers:
    Authorization: Bearer s3cret 9
    X-Api-Key: "s3cret, s3cret"
    Cookie: 'a=s3cret; b=s3cret'
  password: a s3cret, with a comma
  secret: 'it''s s3cret'
  metadata: [{name: authorization, value: Basic b3BzOnM5Y3JldA==}]
  body: '{"user":"me","password":"s3cret","pin":7}'
`)
	if strings.Contains(text, "s3cret") || strings.Contains(text, "b3Bz") || !strings.Contains(text, `"user":"me"`) || !strings.Contains(text, `"pin":7`) {
		t.Error(text)
	}
}
