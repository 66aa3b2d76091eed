// Package halt ends searches that are many calls deep and have no errors to return on the way: their loops check a
// When, and the function by which a package is entered returns ErrHalted.
//
// It is used by the planners, and leaves to them where to check: often enough that a hundredth of a second lies
// between, and seldom enough to cost nothing.
package halt

import "errors"

// ErrHalted says that a search ended before its end because a When said so. What it had found is dropped.
var ErrHalted = errors.New("halted")

// When says whether a search is to end. nil is never.
type When func() bool

// haltPanic is what a check panics with.
type haltPanic struct{}

// Check ends the search, up to the call that deferred Caught, when w says so.
func (w When) Check() {
	if w != nil && w() {
		panic(haltPanic{})
	}
}

// Caught is deferred by the function by which a package is entered: it returns ErrHalted in err where a check ended the
// search. Other panics go on.
func Caught(err *error) {
	switch r := recover(); r.(type) {
	case nil:
	case haltPanic:
		*err = ErrHalted
	default:
		panic(r)
	}
}

// RecoverGoroutine is deferred by goroutines of a search, which just end where a check ends it: who waits for them must check too.
func RecoverGoroutine() {
	switch r := recover(); r.(type) {
	case nil, haltPanic:
	default:
		panic(r)
	}
}
