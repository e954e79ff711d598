<?php
$input = json_decode(stream_get_contents(STDIN), true)['input'];
$latin = strtr($input['title'], ['ä' => 'ae', 'ö' => 'oe', 'ü' => 'ue', 'Ä' => 'ae', 'Ö' => 'oe', 'Ü' => 'ue', 'ß' => 'ss']);
// Accents of other letters go; what has no Latin letter becomes a hyphen.
$latin = preg_replace('/[\x{0300}-\x{036f}]/u', '', class_exists('Normalizer') ? Normalizer::normalize($latin, Normalizer::FORM_D) : $latin);
$words = preg_split('/[^a-z0-9]+/', strtolower($latin), -1, PREG_SPLIT_NO_EMPTY);
$slug = rtrim(substr(implode('-', $words), 0, $input['length'] ?? 60), '-');
echo json_encode(['slug' => $slug]);
