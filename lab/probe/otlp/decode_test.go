package otlp

import (
	"slices"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func decodeGenerated(body []byte, out *batch) error {
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				out.add(span{name: s.Name, remote: isRemote(s.Flags), failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR},
					s.TraceId, s.SpanId, s.ParentSpanId, s.StartTimeUnixNano, s.EndTimeUnixNano)
			}
		}
	}
	return nil
}

func agree(t interface {
	Helper()
	Errorf(string, ...any)
}, body []byte) {
	t.Helper()
	var want, got batch
	if decodeGenerated(body, &want) != nil {
		decodeProtobuf(body, &got) // it must not panic; since it reads fewer fields, it may find no error
		return
	}
	if err := decodeProtobuf(body, &got); err != nil || got.malformed != want.malformed || !slices.Equal(got.spans, want.spans) {
		t.Errorf("decoded %+v (%v), the generated code %+v", got, err, want)
	}
}

func drawSpan(t *rapid.T) *tracepb.Span {
	id := func(label string, n int) []byte {
		return rapid.SliceOfN(rapid.Byte(), 0, n).Draw(t, label)
	}
	s := &tracepb.Span{
		TraceId: id("trace", 17), SpanId: id("span", 9), ParentSpanId: id("parent", 9),
		Name: rapid.String().Draw(t, "name"), Flags: rapid.Uint32().Draw(t, "flags"), TraceState: "a=b",
		StartTimeUnixNano: rapid.Uint64().Draw(t, "start"), EndTimeUnixNano: rapid.Uint64().Draw(t, "end"),
		Events: []*tracepb.Span_Event{{Name: "x", TimeUnixNano: 7}}, Links: []*tracepb.Span_Link{{TraceId: []byte("y")}},
	}
	if rapid.Bool().Draw(t, "sound") {
		s.TraceId, s.SpanId, s.ParentSpanId = []byte("0123456789abcdef"), []byte("01234567"), nil
		s.StartTimeUnixNano = s.EndTimeUnixNano / 2
	}
	if rapid.Bool().Draw(t, "status") {
		s.Status = &tracepb.Status{Message: "m", Code: tracepb.Status_StatusCode(rapid.Int32Range(-1, 3).Draw(t, "code"))}
	}
	return s
}

func TestProtobufAsGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		request := &collector.ExportTraceServiceRequest{}
		for range rapid.IntRange(0, 3).Draw(t, "resources") {
			resource := &tracepb.ResourceSpans{SchemaUrl: "x"}
			for range rapid.IntRange(0, 3).Draw(t, "scopes") {
				scope := &tracepb.ScopeSpans{SchemaUrl: "y"}
				for range rapid.IntRange(0, 3).Draw(t, "spans") {
					scope.Spans = append(scope.Spans, drawSpan(t))
				}
				resource.ScopeSpans = append(resource.ScopeSpans, scope)
			}
			request.ResourceSpans = append(request.ResourceSpans, resource)
		}
		body, err := proto.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, body)
	})
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name, span string
		want       span
	}{
		{"all", `{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"EEE19B7EC3C1B173","name":"n",
			"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":1544712661000000000,"kind":2,"flags":769,
			"status":{"code":2},"attributes":[{"key":"k","value":{"bytesValue":"AAE="}}],"later":{"a":[1]}}`,
			span{trace: [16]byte{0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c},
				id: [8]byte{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}, parent: [8]byte{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73},
				name: "n", start: 1544712660000000000, end: 1544712661000000000, remote: true, failed: true}},
		{"least", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","parentSpanId":"","startTimeUnixNano":"1","endTimeUnixNano":"1","status":{}}`,
			span{trace: [16]byte{15: 1}, id: [8]byte{7: 1}, start: 1, end: 1}},
		{"named status", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","startTimeUnixNano":"1","endTimeUnixNano":"1","status":{"code":"STATUS_CODE_ERROR"},"parentSpanId":null}`,
			span{trace: [16]byte{15: 1}, id: [8]byte{7: 1}, start: 1, end: 1, failed: true}},
	} {
		var got batch
		err := decodeJSON([]byte(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":null},{"spans":[`+c.span+`]}]}]}`), &got)
		if err != nil || len(got.spans) != 1 || got.spans[0] != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	for _, wrong := range []string{``, `[]`, `{"resourceSpans":1}`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"x"}]}]}]}`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"endTimeUnixNano":"-1"}]}]}]}`} {
		if err := decodeJSON([]byte(wrong), &batch{}); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}

func TestWhatIsNoSpan(t *testing.T) {
	good := span{name: "n"}
	trace, id := []byte("0123456789abcdef"), []byte("01234567")
	for name, add := range map[string]func(b *batch){
		"short trace id":   func(b *batch) { b.add(good, trace[:15], id, nil, 1, 2) },
		"no trace id":      func(b *batch) { b.add(good, make([]byte, 16), id, nil, 1, 2) },
		"long span id":     func(b *batch) { b.add(good, trace, trace, nil, 1, 2) },
		"no span id":       func(b *batch) { b.add(good, trace, make([]byte, 8), nil, 1, 2) },
		"short parent id":  func(b *batch) { b.add(good, trace, id, id[:1], 1, 2) },
		"no start":         func(b *batch) { b.add(good, trace, id, nil, 0, 2) },
		"not ended":        func(b *batch) { b.add(good, trace, id, nil, 1, 0) },
		"beyond the clock": func(b *batch) { b.add(good, trace, id, nil, 1, 1<<63) },
	} {
		var b batch
		if add(&b); b.malformed != 1 || len(b.spans) != 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
	var b batch
	b.add(span{name: strings.Repeat("é", maxName)}, trace, id, make([]byte, 8), 1, 2)
	if len(b.spans) != 1 || len(b.spans[0].name) > maxName+1 || b.spans[0].rank() != origin {
		t.Errorf("a long name: %+v", b)
	}
}

func FuzzDecodeProtobuf(f *testing.F) {
	f.Add([]byte("\x0a\x04\x12\x02\x12\x00"))
	f.Add([]byte("\x0b\x0c"))
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), Name: "n", StartTimeUnixNano: 1, EndTimeUnixNano: 2,
		Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}, Flags: 768}}}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) { agree(t, body) })
}

// Any JSON gives an error, or valid spans.
func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(oneGood))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got batch
		if decodeJSON(body, &got) != nil {
			return
		}
		for _, s := range got.spans {
			if s.start <= 0 || s.end < s.start || s.id == [8]byte{} {
				t.Errorf("took %+v", s)
			}
		}
	})
}
