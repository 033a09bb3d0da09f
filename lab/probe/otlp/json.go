package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// decodeJSON reads an ExportTraceServiceRequest in OTLP's JSON: ProtoJSON, but with IDs in
// hexadecimal (ProtoJSON would read them as base64 of the wrong length) and enums as numbers. It
// ignores unknown keys, as the protocol requires.
func decodeJSON(body []byte, out *batch) error {
	var request struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans jsonSpans `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			out.spans = append(out.spans, scope.Spans.spans...)
			out.malformed += scope.Spans.malformed
		}
	}
	return nil
}

// jsonSpans decodes spans one at a time, so that a short text with many empty spans does not take
// much memory.
type jsonSpans struct{ batch }

func (b *jsonSpans) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	switch first, err := d.Token(); {
	case err != nil:
		return err
	case first == nil: // null
		return nil
	case first != json.Delim('['):
		return fmt.Errorf("spans is %v where a list should be", first)
	}
	for d.More() {
		var s jsonSpan
		if err := d.Decode(&s); err != nil {
			return err
		}
		b.add(span{name: s.Name, remote: isRemote(s.Flags), failed: int64(s.Status.Code) == statusError},
			s.Trace, s.ID, s.Parent, uint64(s.Start), uint64(s.End))
	}
	return nil
}

type jsonSpan struct {
	Trace  hexID    `json:"traceId"`
	ID     hexID    `json:"spanId"`
	Parent hexID    `json:"parentSpanId"`
	Name   string   `json:"name"`
	Flags  uint32   `json:"flags"`
	Start  unixNano `json:"startTimeUnixNano"`
	End    unixNano `json:"endTimeUnixNano"`
	Status struct {
		Code jsonStatus `json:"code"`
	} `json:"status"`
}

// hexID is an ID in upper- or lower-case hexadecimal.
type hexID []byte

func (id *hexID) UnmarshalText(text []byte) error {
	*id = make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(*id, text); err != nil {
		return fmt.Errorf("id %.40q: %w", text, err)
	}
	return nil
}

// unixNano is a 64-bit number: a string, as ProtoJSON writes it, or a JSON number, which ProtoJSON
// also accepts.
type unixNano uint64

func (n *unixNano) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseUint(string(bytes.Trim(text, `"`)), 10, 64)
	if err != nil && string(text) != "null" {
		return fmt.Errorf("time %.40s: it should be a whole number of nanoseconds", text)
	}
	*n = unixNano(v)
	return nil
}

// jsonStatus is a status code: a number, or its name, which some senders wrongly use.
type jsonStatus int64

func (c *jsonStatus) UnmarshalJSON(text []byte) error {
	if string(text) == `"STATUS_CODE_ERROR"` {
		*c = jsonStatus(statusError)
		return nil
	}
	v, _ := strconv.ParseInt(string(text), 10, 32) // an unknown name is no error
	*c = jsonStatus(v)
	return nil
}
