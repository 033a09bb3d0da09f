package agent

// maxDigits keeps a number of so many digits within an int64.
const maxDigits = 18

// decimal reads digits and nothing else. Unlike strconv it does not allocate for what is none, which
// strangers may send with every request.
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
