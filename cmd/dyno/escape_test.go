package main

import (
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/text"
)

// What a profile or the compiler says can neither colour a terminal nor overflow its lines.
func TestListingLine(t *testing.T) {
	for _, tt := range []struct {
		style      text.Style
		code, text string
		want       string
	}{
		{text.Style{}, dimmed, "a\x1b[31mb\nc  ", "a[31mbc\n"},
		{text.Style{Color: true, Width: 80}, dimmed, "plain", "\x1b[2mplain\x1b[0m\n"},
		{text.Style{Width: 8}, "", "123456789", "12345...\n"},
		{text.Style{Width: 9}, "", "ööööööööö", "ööööööööö\n"},
	} {
		var b strings.Builder
		(&listing{w: &b, style: tt.style}).line(tt.code, "%s", tt.text)
		if b.String() != tt.want {
			t.Errorf("%+v %q: got %q, want %q", tt.style, tt.text, b.String(), tt.want)
		}
	}
}

func TestShortFunction(t *testing.T) {
	for name, want := range map[string]string{
		"dyno/parts/queue.(*Ring[go.shape.*uint8]).Put":   "queue.(*Ring).Put",
		"dyno/parts/queue.New[dyno/services/notify.lane]": "queue.New",
		"main.main.func1": "main.main.func1",
		"[":               "[",
	} {
		if got := shortFunction(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A run that does not count is taken only when there is no other.
func TestLastProfiled(t *testing.T) {
	runs := func(texts ...string) (out []*record.Run) {
		for _, text := range texts {
			r := &record.Run{ID: text}
			r.Step.Role, r.Step.Variant = record.RoleProfile, text[:1]
			if strings.HasSuffix(text, "!") {
				r.Invalid = "the generator was late"
			}
			out = append(out, r)
		}
		return out
	}
	other := &record.Run{ID: "no profile"}
	other.Step.Variant = "a"
	for _, tt := range []struct {
		runs          []*record.Run
		variant, want string
	}{
		{runs("a1", "a2"), "", "a2"},
		{runs("a1", "a2!"), "", "a1"},
		{runs("a1!", "a2!"), "", "a2!"},
		{runs("a1!", "a2", "a3!"), "", "a2"},
		{runs("a1", "b1", "a2!"), "a", "a1"},
		{append(runs("a1"), other), "", "a1"},
		{[]*record.Run{other}, "", "no profile"},
		{runs("a1"), "b", ""},
	} {
		got := ""
		if _, found := lastProfiled(tt.runs, tt.variant); found != nil {
			got = found.ID
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.variant, got, tt.want)
		}
	}
}
