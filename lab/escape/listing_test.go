package escape

import (
	"strings"
	"testing"
)

// Text from a profile or the compiler can neither colour a terminal nor exceed its width.
func TestListingLine(t *testing.T) {
	for _, tt := range []struct {
		style      Terminal
		code, text string
		want       string
	}{
		{Terminal{}, dimmed, "a\x1b[31mb\nc  ", "a[31mbc\n"},
		{Terminal{Color: true, Width: 80}, dimmed, "plain", "\x1b[2mplain\x1b[0m\n"},
		{Terminal{Width: 8}, "", "123456789", "12345...\n"},
		{Terminal{Width: 9}, "", "ööööööööö", "ööööööööö\n"},
	} {
		var b strings.Builder
		tt.style.W = &b
		tt.style.line(tt.code, "%s", tt.text)
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
