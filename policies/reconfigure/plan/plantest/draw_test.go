package plantest_test

import (
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/policies/reconfigure/plan/plantest"
)

// TestDraw: plans drawn keep all rules, so that what refuses one is at fault.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := plantest.Draw(t).Check(); err != nil {
			t.Error(err)
		}
	})
}
