package message

import "strconv"

// From the FIX 4.4 specification (volumes 1, 4 and 6).

// fixNames are the names of the tags that most errors are about.
var fixNames = map[int]string{
	1: "Account", 8: "BeginString", 9: "BodyLength", 10: "CheckSum", 11: "ClOrdID", 34: "MsgSeqNum", 35: "MsgType", 38: "OrderQty",
	40: "OrdType", 43: "PossDupFlag", 44: "Price", 49: "SenderCompID", 52: "SendingTime", 54: "Side", 55: "Symbol", 56: "TargetCompID",
	58: "Text", 59: "TimeInForce", 60: "TransactTime", 97: "PossResend", 122: "OrigSendingTime", 95: "RawDataLength", 96: "RawData",
	354: "EncodedTextLen", 355: "EncodedText", 453: "NoPartyIDs", 448: "PartyID", 447: "PartyIDSource", 452: "PartyRole",
}

// fixName returns a field's name in errors: "OrderQty (38)".
func fixName(tag int) string {
	if name, ok := fixNames[tag]; ok {
		return name + " (" + strconv.Itoa(tag) + ")"
	}
	return "tag " + strconv.Itoa(tag)
}

// fixHeader are the fields of the standard header, which must come before all others.
var fixHeader = [...]int{8, 9, 35, 49, 56, 115, 128, 90, 91, 34, 50, 142, 57, 143, 116, 144, 129, 145, 43, 97, 52, 122, 212, 213, 347, 369,
	627, 628, 629, 630}

// fixData are the length fields, each with the data field that must follow.
var fixData = [...][2]int{
	{90, 91}, {93, 89}, {95, 96}, {212, 213}, {348, 349}, {350, 351}, {352, 353}, {354, 355}, {356, 357}, {358, 359}, {360, 361},
	{362, 363}, {364, 365}, {445, 446}, {618, 619}, {621, 622},
}

// fixGroup is a repeating group: the count field, the first field of each entry, the others.
type fixGroup struct {
	count, first int
	others       []int
	nested       bool // inside another group: each of its entries has a count
}

// fixGroups are the groups of a NewOrderSingle and of the header.
var fixGroups = [...]fixGroup{
	{627, 628, []int{629, 630}, false},        // hops
	{453, 448, []int{447, 452}, false},        // parties
	{802, 523, []int{803}, true},              // sub-ids of a party
	{78, 79, []int{661, 736, 467, 80}, false}, // allocations
	{539, 524, []int{525, 538}, true},         // parties of an allocation
	{804, 545, []int{805}, true},              // their sub-ids
	{386, 336, []int{625}, false},             // trading sessions
	{454, 455, []int{456}, false},             // alternative ids of the security
	{864, 865, []int{866, 867, 868}, false},   // events
	{232, 233, []int{234}, false},             // stipulations
	{711, 311, fixUnderlying, false},          // underlyings
	{457, 458, []int{459}, true},              // alternative ids of an underlying
	{887, 888, []int{889}, true},              // stipulations of an underlying
}

// fixUnderlying are the fields of an underlying security.
var fixUnderlying = []int{
	312, 309, 305, 462, 463, 310, 763, 313, 542, 241, 242, 243, 244, 245, 246, 256, 595, 592, 593, 594, 247, 316, 941, 317, 436, 435,
	308, 306, 362, 363, 307, 364, 365, 877, 878, 318, 879, 810, 882, 883, 884, 885, 886,
}

// fixRole describes a special field. Most fields have the zero value.
type fixRole struct {
	header  bool
	repeats bool // may occur more than once
	group   int  // 1 + the index in fixGroups
	data    int  // the data field whose length this is
	length  int  // the length field of this data field
}

var fixRoles = func() (roles [1000]fixRole) {
	for _, tag := range fixHeader {
		roles[tag].header = true
	}
	for _, pair := range fixData {
		roles[pair[0]].data, roles[pair[1]].length = pair[1], pair[0]
	}
	for i, g := range fixGroups {
		roles[g.count].group, roles[g.count].repeats = i+1, g.nested
		for _, tag := range append([]int{g.first}, g.others...) {
			roles[tag].group, roles[tag].repeats = i+1, true
		}
	}
	return roles
}()

func roleOf(tag int) fixRole {
	if tag < len(fixRoles) {
		return fixRoles[tag]
	}
	return fixRole{}
}

// maxEntries is the maximum number of entries of a group.
const maxEntries = 100

// fixEntries counts a group's entries.
type fixEntries struct{ says, has int }

// enter processes a field of the group.
func (e *fixEntries) enter(g *fixGroup, tag int, value []byte) error {
	switch tag {
	case g.count:
		n, ok := number(value, maxEntries)
		if !ok {
			return blame(fixName(tag), "%.40q is no number of entries up to %d", value, maxEntries)
		}
		e.says += n
		return nil
	case g.first:
		e.has++
	}
	if e.has == 0 || e.has > e.says {
		return blame(fixName(tag), "stands outside its group; %s says how many there are, %s begins each", fixName(g.count), fixName(g.first))
	}
	return nil
}
