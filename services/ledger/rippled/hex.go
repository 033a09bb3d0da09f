package rippled

// nibbles are the values of hex digits; 0xFF stands for what is none.
var nibbles = func() (t [256]byte) {
	for c := range t {
		switch c := byte(c); {
		case '0' <= c && c <= '9':
			t[c] = c - '0'
		case 'a' <= c && c <= 'f':
			t[c] = c - 'a' + 10
		case 'A' <= c && c <= 'F':
			t[c] = c - 'A' + 10
		default:
			t[c] = 0xFF
		}
	}
	return t
}()

// unhex appends the bytes that hex digits stand for to the answer's memory, which has room (see reset), and gives
// them. It says whether they were hex digits, and keeps nothing where they were not.
//
// encoding/hex leaves its loop at the first fault; looking for one once, at the end, makes this loop twice as fast.
func (a *Answer) unhex(digits []byte) ([]byte, bool) {
	n := len(digits) / 2
	if len(digits)%2 != 0 || cap(a.memory)-len(a.memory) < n {
		return nil, false
	}
	from := len(a.memory)
	to := a.memory[from : from+n : from+n]
	var all byte
	for i := range to {
		pair := digits[2*i : 2*i+2 : 2*i+2]
		high, low := nibbles[pair[0]], nibbles[pair[1]]
		all |= high | low
		to[i] = high<<4 | low
	}
	if all > 15 {
		return nil, false
	}
	a.memory = a.memory[:from+n]
	return to, true
}
