package main

import (
	"sim/scenarios/result"
)

func checkCharts(specs []result.Plot, s *result.Sweep) error { return nil }

func drawCharts(dir string, specs []result.Plot, s *result.Sweep, t *result.SweepTimings, flags runFlags) error {
	return nil
}
