package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func openapiDocument(version, path, operation string) []byte {
	return fmt.Appendf(nil, `{"openapi": %q, "info": {"title": "t", "version": "1"}, "servers": [{"url": "http://h"}], "components": {"schemas": {
"Tree": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 4}, "left": {"$ref": "#/components/schemas/Tree"}, "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}},
"Endless": {"type": "object", "required": ["e"], "properties": {"e": {"$ref": "#/components/schemas/Endless"}}},
"Knot": {"allOf": [{"$ref": "#/components/schemas/Knot"}, {"$ref": "#/components/schemas/Knot"}], "not": {"$ref": "#/components/schemas/Knot"}},
"Car": {"type": "object", "required": ["kind", "wheels"], "properties": {"kind": {"type": "string"}, "wheels": {"type": "integer", "minimum": 3}}},
"Boat": {"type": "object", "required": ["kind", "sails"], "properties": {"kind": {"type": "string"}, "sails": {"type": "integer"}}}
}}, "paths": {%q: {"post": %s}}}`, version, path, operation)
}

// TestStyles: the values of the tables of styles (OpenAPI 3.1, 4.8.12.4; RFC 6570), and more.
func TestStyles(t *testing.T) {
	const list, object = `"schema": {"type": "array", "items": {}}, "example": ["blue", "b&k", 7]`, `"schema": {"type": "object"}, "example": {"R": 100, "g": "a b"}`
	for parameter, want := range map[string]string{
		`"in": "query", ` + list:                                                       "/?c=blue&c=b%26k&c=7",
		`"in": "query", "explode": false, ` + list:                                     "/?c=blue,b%26k,7",
		`"in": "query", "style": "spaceDelimited", ` + list:                            "/?c=blue%20b%26k%207",
		`"in": "query", "style": "pipeDelimited", "explode": false, ` + object:         "/?c=R%7C100%7Cg%7Ca%20b",
		`"in": "query", "style": "pipeDelimited", "explode": true, ` + list:            "! parameter c: the style pipeDelimited has no form with explode",
		`"in": "query", ` + object:                                                     "/?R=100&g=a%20b",
		`"in": "query", "explode": false, ` + object:                                   "/?c=R,100,g,a%20b",
		`"in": "query", "style": "deepObject", "explode": true, ` + object:             "/?c%5BR%5D=100&c%5Bg%5D=a%20b",
		`"in": "query", "style": "deepObject", ` + list:                                "! parameter c: the style deepObject has no form for an array",
		`"in": "query", "style": "matrix", ` + list:                                    "! parameter c: the style matrix is not made there",
		`"in": "query", "schema": {}, "example": {"a": [1]}`:                           "! parameter c: an array or an object within another",
		`"in": "query", "schema": {}, "example": 1234567890123456789`:                  "! parameter c: its integer near",
		`"in": "query", "schema": {}, "example": []`:                                   "/",
		`"in": "query", "schema": {}, "example": ""`:                                   "/?c=",
		`"in": "query", "allowReserved": true, "schema": {}, "example": "/a?b%2Fc#"`:   "/?c=/a?b%2Fc%23",
		`"in": "query", "content": {"application/json": {"example": {"b": [1, "x"]}}}`: "/?c=%7B%22b%22%3A%5B1%2C%22x%22%5D%7D",
		`"in": "query", "content": {"application/xml": {"example": "<a/>"}}`:           "! parameter c: content of type application/xml is not made",
		`"in": "path", ` + list:                                                        "/blue,b%26k,7",
		`"in": "path", ` + object:                                                      "/R,100,g,a%20b",
		`"in": "path", "explode": true, ` + object:                                     "/R=100,g=a%20b",
		`"in": "path", "style": "label", ` + list:                                      "/.blue,b%26k,7",
		`"in": "path", "style": "label", "explode": true, ` + object:                   "/.R=100.g=a%20b",
		`"in": "path", "style": "matrix", ` + list:                                     "/;c=blue,b%26k,7",
		`"in": "path", "style": "matrix", "explode": true, ` + list:                    "/;c=blue;c=b%26k;c=7",
		`"in": "path", "style": "matrix", ` + object:                                   "/;c=R,100,g,a%20b",
		`"in": "path", "style": "matrix", "schema": {}, "example": ""`:                 "/;c",
		`"in": "path", "style": "matrix", "schema": {}, "example": "a/b"`:              "/;c=a%2Fb",
		`"in": "path", "style": "form", ` + list:                                       "! parameter c: the style form is not made in a path",
		`"in": "header", ` + list:                                                      "/ c: blue,b&k,7",
		`"in": "header", "explode": true, ` + object:                                   "/ c: R=100,g=a b",
		`"in": "header", "schema": {}, "example": "a\u0001"`:                           "! parameter c: it is no header field",
		`"in": "cookie", "explode": false, ` + list:                                    "/ Cookie: c=blue,b&k,7",
		`"in": "cookie", ` + list:                                                      "/ Cookie: c=blue&c=b&k&c=7",
		`"in": "cookie", "schema": {}, "example": "a;b c"`:                             "/ Cookie: c=a%3Bb%20c",
		`"in": "cookie", "style": "simple", ` + list:                                   "! parameter c: the style simple is not made in a cookie",
	} {
		path := "/"
		if strings.Contains(parameter, `"path"`) {
			path = "/{c}"
		}
		load, err := readOpenAPI(openapiDocument("3.1.0", path, `{"parameters": [{"name": "c", "required": true, `+parameter+`}, {"name": "Accept", "in": "header", "required": true, "schema": {}, "example": "x"}], "responses": {}}`))
		if err != nil {
			t.Fatal(parameter, err)
		}
		got := strings.Join(loadLines(load), "\n")
		if got != want && !(strings.HasPrefix(want, "! ") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", parameter, got, want)
		}
	}
}

// loadLines describes requests without their server, and omissions.
func loadLines(load *Load) (out []string) {
	for _, r := range load.Requests {
		line := strings.TrimPrefix(r.URL, "http://h")
		for _, f := range r.Header {
			line += " " + f.Name + ": " + f.Value
		}
		out = append(out, line)
	}
	for _, o := range load.Left {
		out = append(out, "! "+o.Why)
	}
	return out
}

// TestForms: how the properties of a form are written (OpenAPI 3.1, 4.8.15).
func TestForms(t *testing.T) {
	load, err := readOpenAPI(openapiDocument("3.1.0", "/", `{"responses": {}, "requestBody": {"content": {"application/x-www-form-urlencoded": {
"schema": {"type": "object"},
"example": {"plain": "a b", "list": [1, 2], "nested": {"x": [1]}, "csv": ["a", "b&c"], "deep": {"s": 1}, "open": "/a?b", "json": "t"},
"encoding": {"csv": {"explode": false}, "deep": {"style": "deepObject", "explode": true}, "open": {"allowReserved": true}, "json": {"contentType": "application/json"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "csv=a,b%26c&deep%5Bs%5D=1&json=%22t%22&list=1&list=2&nested=%7B%22x%22%3A%5B1%5D%7D&open=/a?b&plain=a+b"
	if len(load.Requests) != 1 || load.Requests[0].Body != want {
		t.Errorf("%+v, want %s", load, want)
	}
}

// sampleSchemas are schemas of which values are made, in the versions that have their keywords;
// another validator checks the values. want is a regular expression that the value must match or,
// after !, a part of the reason why there is none.
var sampleSchemas = []struct{ versions, schema, want string }{
	{"3.0 3.1", `{"type": "integer", "minimum": 12, "multipleOf": 5}`, `^15$`},
	{"3.0", `{"type": "integer", "minimum": 3, "exclusiveMinimum": true}`, `^4$`},
	{"3.0", `{"type": "number", "maximum": 0, "exclusiveMaximum": true}`, `^-`},
	{"3.1", `{"type": "integer", "exclusiveMinimum": 3, "maximum": 4}`, `^4$`},
	{"3.1", `{"type": "number", "exclusiveMinimum": 2, "exclusiveMaximum": 2.5}`, `^2\.`},
	{"3.0 3.1", `{"type": "number", "multipleOf": 0.1, "minimum": 0.25, "maximum": 0.3}`, `^0.3$`},
	{"3.0 3.1", `{"type": "integer", "maximum": -7}`, `^-7$`},
	{"3.0 3.1", `{"type": "integer", "minimum": 5, "maximum": 4}`, `!no number`},
	{"3.0 3.1", `{"type": "string", "minLength": 9, "maxLength": 9}`, `^"textxxxxx"$`},
	{"3.0 3.1", `{"type": "string", "maxLength": 2}`, `^"te"$`},
	{"3.0 3.1", `{"type": "string", "pattern": "^[A-Z]{2}\\d{4,}-(x|y)$", "minLength": 12}`, `^"[A-Z]{2}\d{8,}-[xy]"$`},
	{"3.0 3.1", `{"type": "string", "pattern": "^\\u0041[^a-z\\s]+\\/$"}`, `^"A.+/"$`},
	{"3.0 3.1", `{"type": "string", "pattern": "b", "maxLength": 3}`, `b`},
	{"3.0 3.1", `{"type": "object", "required": ["p"], "properties": {"p": {"type": "string", "pattern": "^(?=a)b"}}}`, `!for p: its pattern`},
	{"3.0 3.1", `{"type": "object", "properties": {"p": {"type": "string", "pattern": "^(?=a)b"}, "q": {"type": "boolean"}}}`, `^{"q":true}$`},
	{"3.0 3.1", `{"type": "string", "format": "email", "maxLength": 40}`, `@`},
	{"3.0 3.1", `{"type": "array", "minItems": 4, "uniqueItems": true, "items": {"type": "string", "format": "ipv4"}}`, `^\[("[^"]*",?){4}\]$`},
	{"3.0 3.1", `{"type": "array", "maxItems": 0, "items": {}}`, `^\[\]$`},
	{"3.0 3.1", `{"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 3}}}}`, `3.*4.*5`},
	{"3.0 3.1", `{"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "boolean"}}`, `!equal`},
	{"3.1", `{"type": "array", "prefixItems": [{"type": "integer"}, {"const": "b"}], "minItems": 3, "items": {"type": "boolean"}}`, `^\[1,"b",true\]$`},
	{"3.1", `{"type": "array", "contains": {"type": "integer", "minimum": 7}, "minContains": 2}`, `^\[7,7\]$`},
	{"3.0 3.1", `{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}`, `^{"key1":1,"key2":1}$`},
	{"3.0 3.1", `{"type": "object", "maxProperties": 1, "required": ["b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}`, `^{"b":"text"}$`},
	{"3.1", `{"type": "object", "minProperties": 1, "additionalProperties": false, "patternProperties": {"^x-[a-z]{2}$": {"type": "string"}}}`, `x-`},
	{"3.0 3.1", `{"type": "object", "required": ["further"], "additionalProperties": {"type": "integer", "minimum": 6}}`, `^{"further":6}$`},
	{"3.0", `{"type": "string", "nullable": true, "enum": [null, "b"]}`, `^"b"$`},
	{"3.1", `{"type": ["null", "integer"], "minimum": 8}`, `^8$`},
	{"3.1", `{"const": {"a": 1}}`, `^{"a":1}$`},
	{"3.1", `{"type": "integer", "examples": ["wrong", 4], "default": 3}`, `^4$`},
	{"3.0 3.1", `{"type": "integer", "default": 3, "minimum": 2, "enum": [1, 2, 3]}`, `^3$`},
	{"3.0 3.1", `{"type": "integer", "example": "text", "minimum": 2}`, `^2$`},
	{"3.0 3.1", `{"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 6}}}, {"type": "object", "properties": {"a": {"type": "string", "pattern": "^q"}, "b": {"type": "integer", "minimum": 2}}}]}`, `^{"a":"q.{5,}","b":2}$`},
	{"3.0 3.1", `{"allOf": [{"type": "number", "minimum": 2}, {"type": "number", "maximum": 2}]}`, `^2$`},
	{"3.0 3.1", `{"oneOf": [{"type": "string", "pattern": "(?!x)y", "minLength": 1, "enum": []}, {"type": "integer", "minimum": 2}]}`, ``},
	{"3.0 3.1", `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `^{"a":"text"}$`},
	{"3.0 3.1", `{"anyOf": [{"type": "integer", "minimum": 3, "maximum": 2}, {"type": "boolean"}]}`, `^true$`},
	{"3.0 3.1", `{"type": "string", "not": {"enum": ["text"]}}`, `^"1"$`},
	{"3.0 3.1", `{"oneOf": [{"$ref": "#/components/schemas/Boat"}, {"$ref": "#/components/schemas/Car"}], "discriminator": {"propertyName": "kind", "mapping": {"ship": "#/components/schemas/Boat"}}}`, `"kind":"ship"`},
	{"3.0 3.1", `{"$ref": "#/components/schemas/Tree"}`, `^{"kids":\[\],"size":4}$`},
	{"3.0 3.1", `{"allOf": [{"$ref": "#/components/schemas/Knot"}, {"type": "boolean"}]}`, `!permits none`},
	{"3.0 3.1", `{"$ref": "#/components/schemas/Endless"}`, `!contains itself`},
	{"3.0 3.1", `{"type": "object", "properties": {"id": {"type": "integer", "readOnly": true}, "n": {"type": "integer"}}, "example": {"id": 1, "n": 2}}`, `^{"n":2}$`},
}

func TestSamples(t *testing.T) {
	for _, c := range sampleSchemas {
		for _, version := range strings.Fields(c.versions) {
			text := openapiDocument(version+".0", "/", `{"responses": {}, "requestBody": {"content": {"application/json": {"schema": `+c.schema+`}}}}`)
			load, err := readOpenAPI(text)
			if err != nil {
				t.Fatalf("%s %s: %v", version, c.schema, err)
			}
			if why, left := strings.CutPrefix(c.want, "!"); left {
				if len(load.Left) != 1 || !strings.Contains(load.Left[0].Why, why) {
					t.Errorf("%s %s: %+v, want %s", version, c.schema, load, why)
				}
				continue
			}
			if len(load.Requests) != 1 {
				t.Errorf("%s %s: %+v", version, c.schema, load.Left)
				continue
			}
			body := load.Requests[0].Body
			if !regexp.MustCompile(c.want).MatchString(body) {
				t.Errorf("%s %s: %s, want %s", version, c.schema, body, c.want)
			}
			doc, err := openapi3.NewLoader().LoadFromData(text)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(body, err)
			}
			schema := doc.Paths.Value("/").Post.RequestBody.Value.Content["application/json"].Schema.Value
			options := []openapi3.SchemaValidationOption{openapi3.VisitAsRequest(), openapi3.EnableFormatValidation()}
			if version == "3.1" && !strings.Contains(c.schema, "$ref") {
				options = append(options, openapi3.EnableJSONSchema2020())
			}
			if err := schema.VisitJSON(v, options...); err != nil {
				t.Errorf("%s %s: %s: %v", version, c.schema, body, err)
			}
		}
	}
}

// TestOpenAPIBodies: a body that cannot be made is listed as left out, and a value that was made
// up is noted.
func TestOpenAPIBodies(t *testing.T) {
	for content, want := range map[string]string{
		`{"multipart/form-data": {"schema": {"type": "object"}}}`: "! its body: bodies of type multipart/form-data are not made",
		`{"application/xml": {"schema": {"type": "string"}}}`:     "! its body: bodies of type application/xml are made only of examples",
		`{"application/xml": {"example": "<a/>"}}`:                "<a/>",
		`{"text/plain": {}}`: "text",
		`{"application/json": {"schema": {"type": "object"}, "example": "{\"a\": 1}"}}`:         `{"a": 1}`,
		`{"application/json": {"example": {"a": [9007199254740993]}}}`:                          "! its body: its integer near 9007199254740992 has more digits",
		`{"application/json": {"schema": {"type": "integer", "example": 9223372036854775807}}}`: "! its body: its integer near",
		`{"application/json": {"schema": {"type": "integer", "minimum": 9007199254740991}}}`:    "9007199254740991",
		`{"application/*+json": {"example": {"a": "<&>"}}}`:                                     `{"a":"<&>"}`,
		`{"application/json": {"schema": {"type": "integer", "minimum": 9}}, "text/x": {}}`:     "9",
	} {
		load, err := readOpenAPI(openapiDocument("3.1.0", "/", `{"responses": {}, "requestBody": {"content": `+content+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		if why, left := strings.CutPrefix(want, "! "); left && (len(load.Left) != 1 || !strings.HasPrefix(load.Left[0].Why, why)) || !left && (len(load.Requests) != 1 || load.Requests[0].Body != want) {
			t.Errorf("%s: %+v, want %s", content, load, want)
		}
		if strings.HasPrefix(want, "9") && !strings.Contains(fmt.Sprint(load.Notes), "the value of the body of POST /") {
			t.Errorf("notes %v", load.Notes)
		}
	}
}

// TestLeftOutProperties: an optional property for which no value is found is left out, with a
// note.
func TestLeftOutProperties(t *testing.T) {
	load, err := readOpenAPI(openapiDocument("3.1.0", "/", `{"responses": {}, "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {
"a": {"type": "integer"}, "b": {"type": "string", "pattern": "^(?=x)y"}, "c": {"type": "object", "properties": {"d": {"type": "integer", "minimum": 2, "maximum": 1}}}, "e": {"type": "array", "items": {"type": "string", "pattern": "^(?=x)y"}}}}}}}}`))
	if err != nil || len(load.Requests) != 1 || load.Requests[0].Body != `{"a":1,"c":{},"e":[]}` {
		t.Fatal(load, err)
	}
	if want := "none was found: b, c.d, the members of e of the body of POST /"; !strings.Contains(fmt.Sprint(load.Notes), want) {
		t.Errorf("notes %q, want %s", load.Notes, want)
	}
}
