package scenario

import (
	"fmt"
	"strings"
	"testing"
)

// A placeholder that a URL of the load cannot have is reported with its position, before anything
// runs.
func TestPlaceholdersInLoadURLs(t *testing.T) {
	for load, want := range map[string]string{
		`{url: "http://h/${row.x}?q=${key}${random:4}", keys: {count: 3}, feeder: {file: f.csv}}`: "",
		`{url: "http://h/${uuid}"}`:                                                               "x.yaml:3:",
		`{url: "http://h/${randm:4}"}`:                                                            "${randm:4}: unknown placeholder; ",
		`{url: "http://h/${id}"}`:                                                                 "in a body only",
		`{url: "http://h/", headers: {X: "${id}"}}`:                                               "in a body only",
		`{url: "http://h/", body: "${id}"}`:                                                       "",
		`{url: "http://h/", classes: [{path: "/${id}"}]}`:                                         "in a body only",
		`{url: "${target.url}/${row.x}", feeder: {file: f.csv}}`:                                  "",
		`{url: "${target.url}${row.x}", feeder: {file: f.csv}}`:                                   "the host must be known",
		`{url: "http://${row.x}/", feeder: {file: f.csv}}`:                                        "the host must be known",
		`{url: "http://h:${row.x}/", feeder: {file: f.csv}}`:                                      "the host must be known",
		`{url: "ws://h/${row.x}", body: "{}", feeder: {file: f.csv}}`:                             "share their connection",
		`{kind: sessions, url: "ws://h/${session}/${row.x}", sessions: 2, feeder: {file: f.csv}}`: "",
		`{kind: sessions, url: "ws://${row.x}/", sessions: 2, feeder: {file: f.csv}}`:             "the host must be known",
		`{kind: sessions, url: "ws://h/${offer}", sessions: 2}`:                                   "in send",
	} {
		if !strings.Contains(load, "kind") {
			load = strings.Replace(load, "{", "{schedule: {kind: closed}, ", 1)
		}
		_, err := Parse("x.yaml", fmt.Appendf(nil, "name: x\nmode: load\nload: %s\ntarget: {url: \"http://h/\"}\n", load))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", load, err, want)
		}
	}
}
