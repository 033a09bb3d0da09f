package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// texts returns a load with a * at the start of each text that is a template.
func texts() Load {
	request := Request{Name: "a", Method: "PUT", Path: "*p", Headers: map[string]string{"A": "*1", "B": "*2"}, Body: Body{Text: "*b", Corpus: "c"}}
	return Load{
		URL: "*u", Headers: map[string]string{"C": "*3"}, Requests: []Request{request},
		Steps: []Step{{Request: request, Save: map[string]Save{"token": {JSON: "t"}}}, {Request: Request{Name: "b"}, URL: "*x"}},
		Sessions: &Session{Open: Open{Subprotocols: []string{"s"}, Messages: []string{"*m"}},
			Send: &Send{Text: "*t", Base64: "MQ==", URL: "*y", Method: "PUT", Headers: map[string]string{"D": "*4"}}, Expect: Expect{Frames: Match{Contains: "f"}}},
		GRPC: &Call{Call: "a/B"}, Job: &Job{Args: []string{"r"}}, Deliveries: "d",
	}
}

// TestWalk: Walk replaces each template once, and does not change the load itself.
func TestWalk(t *testing.T) {
	l := texts()
	var names []string
	got, err := l.Walk(func(name, text string, saved []string) (string, error) {
		names = append(names, name)
		if (text == "*x") != slices.Contains(saved, "token") {
			t.Errorf("%s %s may contain %v", name, text, saved)
		}
		return strings.Replace(text, "*", "+", 1), nil
	})
	if err != nil || !reflect.DeepEqual(l, texts()) {
		t.Errorf("%v; the load became %+v", err, l)
	}
	before, _ := json.Marshal(l)
	after, _ := json.Marshal(got)
	if want := strings.ReplaceAll(string(before), "*", "+"); string(after) != want {
		t.Errorf("%s, want %s", after, want)
	}
	const want = "[url header C body path header A header B open.messages send.text send.url send.headers D body path header A header B url]"
	if fmt.Sprint(names) != want {
		t.Errorf("%v, want %s", names, want)
	}
	if _, err := l.Walk(func(_, text string, _ []string) (string, error) {
		if text == "*x" {
			return "", errors.New("not known")
		}
		return text, nil
	}); err == nil || err.Error() != "step b: not known" {
		t.Error(err)
	}
}
