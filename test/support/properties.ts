// Owns: the cases of the property tests: the same in every run, others with HAFT_SEED=N.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.HAFT_SEED ?? 20_261_116) });

export default fc;
