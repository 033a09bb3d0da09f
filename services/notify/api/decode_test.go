package api

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"

	"dyno/services/notify/notice"
)

// FuzzDecode: what is taken for a notice is what encoding/json takes for one, and what a receiver
// gets of it is JSON in UTF-8.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"id":"1","key":"k","type":"t","payload":{"a" : 1}}`, ` {"key":"k\u00e9\n","type":null} `, `{"key":"k","key":"l","payload":[1,2,{"a":1,"a":2}]}`,
		`{`, `{"key"`, `{"key":`, `{"key":1}`, `{"keys":1}`, `[]`, `null`, `{} {}`, `{"payload":}`, "{\"key\":\"\xff\"}", `{"payload":01}`,
		"{\"key\":\"k\",\"type\":\"t\",\"payload\":{\"a\xc3\":\"\xed\xa0\x80\"}}", `{"key":"\u2028","payload":"\ud83d\ude00"}`, `{"payload":["\ud800"]}`, `{"key":"\udc00"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := decodeNotice(data)
		if err != nil {
			return
		}
		var want notice.Notice
		d := json.NewDecoder(bytes.NewReader(data))
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q is no notice for encoding/json: %v", data, err)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("%q: text after it", data)
		}
		if n.ID != want.ID || n.Key != want.Key || n.Type != want.Type || !bytes.Equal(n.Payload, want.Payload) {
			t.Fatalf("%q: %+v, encoding/json has %+v", data, n, want)
		}
		if check(n) != nil {
			return
		}
		if body := n.AppendEnvelope(nil); !json.Valid(body) || !utf8.Valid(body) {
			t.Fatalf("%q: sends %q", data, body)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(`{"id":"0123456789abcdef-0123456789abcdef","key":"key-1234","type":"order.shipped","payload":{"note":"` + string(bytes.Repeat([]byte("x"), 160)) + `"}}`)
	b.Run("once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeNotice(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(new(notice.Notice)); err != nil {
				b.Fatal(err)
			}
			if _, err := d.Token(); err != io.EOF {
				b.Fatal(err)
			}
		}
	})
}
