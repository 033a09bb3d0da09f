package made

type InTest struct {
	a bool
	b int64
	c bool
}
