package api

import (
	"testing"

	pages "dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
)

// Only requests with a known key are the front's.
func TestFrontKeys(t *testing.T) {
	g, err := pages.New(pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{screen: httploop.Screen{Guard: g}, allows: func(authorization string) bool { return authorization == "Bearer good" }}
	r := func(fields ...wire.Field) *httploop.Request {
		return &httploop.Request{Head: wire.Head{Method: "POST", Target: "/v1/notices", Host: "x",
			Fields: append(fields, wire.Field{Name: "Content-Type", Value: "application/json"}, wire.Field{Name: "Content-Length", Value: "1"})}}
	}
	for value, want := range map[string]string{"Bearer good": "", "Bearer bad": "Authorization"} {
		if got := f.serves(r(wire.Field{Name: "authorization", Value: value})); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
	if f.serves(r()) == "" {
		t.Error("a request without a key")
	}
	if two := []wire.Field{{Name: "Authorization", Value: "Bearer bad"}, {Name: "authorization", Value: "Bearer good"}}; f.serves(r(two...)) == "" {
		t.Error("a request with two keys")
	}
}
