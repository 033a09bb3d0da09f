package message

// fixCounts are fields that may be the count of a repeating group. Two parties agree on groups and
// fields beyond the standard (FIX 4.4, volume 1, "User Defined Fields" and "Repeating Groups"), and
// later versions bring more: not all have a table here. Every group comes after its count; what is
// in one is kept with the message, and changes nothing of the order.
type fixCounts struct {
	first, last int // tags; 0: there was none
}

// note takes in a field of the body: a count is a number above 0.
func (c *fixCounts) note(tag int, value []byte) {
	const most = 9999 // entries; what is more is a price, a quantity or a date
	if n, ok := number(value, most); !ok || n == 0 || fixOnce(tag) || roleOf(tag).data != 0 || roleOf(tag).length != 0 {
		return
	}
	if c.last = tag; c.first == 0 {
		c.first = tag
	}
}

// allow reports whether a tag may be there again, outside the groups that have a table: it does not
// decide about the order, and a group has begun that may have it in each entry.
func (c *fixCounts) allow(tag int) bool { return c.first != 0 && c.first != tag && !fixOnce(tag) }

// twice is the error about a tag that may not.
func (c *fixCounts) twice(tag int) error {
	if c.last == 0 || c.last == tag || roleOf(tag).header {
		return blame(fixName(tag), "given twice; leave one out")
	}
	return blame(fixName(tag), "given twice, and the order needs one; if it belongs to a group that begins at %s, that group is not known here: leave the group out", fixName(c.last))
}

// fixOnce reports whether a tag decides about the message or its order, so that it can be there
// once only.
func fixOnce(tag int) bool {
	switch tag {
	case 1, 11, 38, 40, 44, 54, 55, 59, 60:
		return true
	}
	role := roleOf(tag)
	return role.header && role.group == 0
}
