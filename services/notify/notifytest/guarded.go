package notifytest

import (
	"strings"
	"testing"
)

// Guarded subscribes private addresses at a program that must refuse them, and returns its client:
// no webhook has reached any of them, by address or by name.
func Guarded(t *testing.T, start Start) *Client {
	l := Usual
	l.AllowPrivate, l.Attempts = false, 2
	c := Open(t, start, l)
	r := NewReceiver(t, func(Hook) Reply {
		t.Error("a webhook reached a loopback address")
		return Reply{Status: 200}
	})
	for _, host := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
		"[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]", "[::]", "[64:ff9b::7f00:1]", "[::7f00:1]", "[2002:7f00:1::%25lo]", "224.0.0.1"} {
		status, _, data := c.Do("POST", "/v1/subscriptions", One, `{"url":"http://`+host+`:80/"}`)
		if status != 400 {
			t.Errorf("%s: %d %s", host, status, data)
		}
	}
	byName := strings.Replace(r.URL, "127.0.0.1", "localhost", 1)
	status, _, data := c.Do("POST", "/v1/subscriptions", One, `{"url":"`+byName+`/a"}`)
	if status != 201 {
		t.Fatalf("%s: %d %s", byName, status, data)
	}
	c.Post(One, Notice("1", "k", "t", "1"))
	if s := c.Quiet(); s.Dead != 1 {
		t.Errorf("stats %+v", s)
	}
	return c
}
