// Package halt ends deep searches that return no errors. Their loops call When.Check, which
// panics if the search must end. The exported function that started the search defers Caught,
// which turns this panic into ErrHalted.
//
// Planners decide where to check: about every hundredth of a second, and rarely enough to cost
// nothing.
package halt

import "errors"

// ErrHalted is returned by a search that a When ended. Its partial results are discarded.
var ErrHalted = errors.New("halted")

// When reports whether a search must end. nil means never.
type When func() bool

// haltPanic is the panic value of Check.
type haltPanic struct{}

// Check ends the search, up to the call that deferred Caught, if w returns true.
func (w When) Check() {
	if w != nil && w() {
		panic(haltPanic{})
	}
}

// Caught sets err to ErrHalted if Check ended the search. It is deferred by exported functions.
// Other panics continue.
func Caught(err *error) {
	switch r := recover(); r.(type) {
	case nil:
	case haltPanic:
		*err = ErrHalted
	default:
		panic(r)
	}
}

// RecoverGoroutine is deferred by the goroutines of a search. If Check ends the search, the
// goroutine returns normally. The goroutine that waits for it must therefore call Check too.
func RecoverGoroutine() {
	switch r := recover(); r.(type) {
	case nil, haltPanic:
	default:
		panic(r)
	}
}
