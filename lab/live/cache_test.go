package live

import (
	"testing"
	"time"

	"dyno/lab/record/folder"
)

func TestCacheForgetsTheOldest(t *testing.T) {
	c := newCache[int](2)
	now := folder.Stamp{Changed: time.Unix(1, 0), Size: 1}
	c.put("a", now, 1)
	c.put("b", now, 2)
	c.get("a", now)
	c.put("c", now, 3)
	if _, ok := c.get("b", now); ok {
		t.Error("the value that was not used longest is still there")
	}
	if v, ok := c.get("a", now); !ok || v != 1 {
		t.Error("the value that was used is gone")
	}
	if _, ok := c.get("a", folder.Stamp{Changed: time.Unix(2, 0), Size: 1}); ok {
		t.Error("the value of an older file is given")
	}
}
