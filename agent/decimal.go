package agent

// maxDigits is the largest number of digits that always fits into an int64.
const maxDigits = 18

// decimal parses a text of digits. Unlike strconv it does not allocate for invalid text, which
// any client may send with every request.
func decimal[T string | []byte](text T) (n int64, ok bool) {
	if len(text) == 0 || len(text) > maxDigits {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return n, true
}
