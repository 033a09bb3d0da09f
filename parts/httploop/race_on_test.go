//go:build race

package httploop

const raceEnabled = true
