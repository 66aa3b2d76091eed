// Package cancellation ends deep searches that return no errors. Their loops call Condition.Check,
// which panics if the search must end. The exported function that started the search defers Recover,
// which turns this panic into ErrCancelled.
//
// Planners decide where to check: about every hundredth of a second, and rarely enough to cost
// nothing.
package cancellation

import "errors"

// ErrCancelled is returned by a search that a Condition ended. Its partial results are discarded.
var ErrCancelled = errors.New("cancelled")

// Condition reports whether a search must end. nil means never.
type Condition func() bool

// Never is the Condition of a search that always runs to its end.
var Never Condition

// cancelPanic is the panic value of Check.
type cancelPanic struct{}

// Check ends the search, up to the call that deferred Recover, if c returns true.
func (c Condition) Check() {
	if c != nil && c() {
		panic(cancelPanic{})
	}
}

// Recover sets err to ErrCancelled if Check ended the search. It is deferred by exported functions.
// Other panics continue.
func Recover(err *error) {
	switch r := recover(); r.(type) {
	case nil:
	case cancelPanic:
		*err = ErrCancelled
	default:
		panic(r)
	}
}

// RecoverGoroutine is deferred by the goroutines of a search. If Check ends the search, the
// goroutine returns normally. The goroutine that waits for it must therefore call Check too.
func RecoverGoroutine() {
	switch r := recover(); r.(type) {
	case nil, cancelPanic:
	default:
		panic(r)
	}
}
