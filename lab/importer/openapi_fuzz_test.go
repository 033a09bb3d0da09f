package importer

import (
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// FuzzOpenAPI: any text gives requests, omissions or an error.
func FuzzOpenAPI(f *testing.F) {
	text, err := os.ReadFile("testdata/openapi/input.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, c := range sampleSchemas {
		f.Add(openapiDocument("3.1.0", "/{a}", `{"parameters": [{"name": "a", "in": "path", "required": true, "schema": `+c.schema+`}], "responses": {}, "requestBody": {"content": {"application/json": {"schema": `+c.schema+`}}}}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		load, err := readOpenAPI(text)
		if (load == nil) == (err == nil) {
			t.Fatalf("a load %v and an error %v", load, err)
		}
	})
}

// FuzzSampleText: a text that is made matches its pattern and has a permitted length, or
// sampleText returns a reason.
func FuzzSampleText(f *testing.F) {
	for _, c := range []string{`^[a-z]{3}$`, `(a|b)*c+d?`, `^\d{6,14}$`, `[^\x00-\x7f]`, `\bx\B`, `(?i)k`, `a{1000}`, `[\s\S]*`} {
		f.Add(c, uint64(3), uint64(20), 1)
	}
	f.Fuzz(func(t *testing.T, pattern string, least, most uint64, nth int) {
		s := &openapi3.Schema{Pattern: pattern, MinLength: least, MaxLength: &most}
		if text, why := sampleText(s, max(nth, 0)%1000); why == "" && permitsText(s, text) != "" || strings.TrimSpace(why) != why {
			t.Errorf("%q: %q, %s", pattern, text, why)
		}
	})
}
