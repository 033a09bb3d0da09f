package mediatype

import "testing"

func TestOf(t *testing.T) {
	for text, want := range map[string]struct {
		kind string
		json bool
	}{
		"application/json":                             {"application/json", true},
		"Application/JSON ;charset=ISO-8859-1":         {"application/json", true},
		"\tapplication/json; charset=utf-8; charset=x": {"application/json", true},
		`application/json; profile="a;b`:               {"application/json", true},
		"application/json;":                            {"application/json", true},
		"application/cloudevents+JSON; v=1":            {"application/cloudevents+json", true},
		"application/json-rpc":                         {"application/json-rpc", false},
		"text/plain; application/json":                 {"text/plain", false},
		"text/plain, application/json":                 {"text/plain, application/json", false},
		"application/jsonx":                            {"application/jsonx", false},
		"":                                             {"", false},
		";":                                            {"", false},
	} {
		if kind, json := Of(text), IsJSON(text); kind != want.kind || json != want.json {
			t.Errorf("%q: %q, %v", text, kind, json)
		}
	}
}

func TestIsNDJSON(t *testing.T) {
	for text, want := range map[string]bool{
		"application/x-ndjson": true, "Application/NDJSON; charset=utf-8": true, "application/jsonl": true, "application/jsonlines": true,
		"application/json": false, "application/json-seq": false, "text/plain": false, "": false,
	} {
		if IsNDJSON(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Of("application/json; charset=utf-8") }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Text/XML; charset=utf-8")
	f.Fuzz(func(t *testing.T, text string) {
		if kind := Of(text); Of(kind) != kind {
			t.Errorf("%q is %q, and that is %q", text, kind, Of(kind))
		}
	})
}
