<?php
['html' => $html] = $input = json_decode(stream_get_contents(STDIN), true)['input'];
preg_match_all('~<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|\'([^\']*)\'|([^\s>]+))[^>]*>(.*?)</a>~is', $html, $found, PREG_SET_ORDER);
$links = [];
foreach ($found as [, $double, $single, $bare, $inside]) {
    $url = html_entity_decode($double ?: $single ?: $bare, ENT_QUOTES | ENT_HTML5);
    $text = trim(preg_replace('/\s+/', ' ', html_entity_decode(strip_tags($inside), ENT_QUOTES | ENT_HTML5)));
    $links[] = ['url' => absolute($url, $input['base'] ?? ''), 'text' => $text];
}
echo json_encode(['links' => $links]);

function absolute(string $url, string $base): string
{
    if ($base === '' || preg_match('~^[a-z][a-z0-9+.-]*:~i', $url)) return $url;
    preg_match('~^(https?:)//[^/?#]+~i', $base, $origin);
    if (str_starts_with($url, '//')) return $origin[1] . $url;
    if (str_starts_with($url, '/')) return $origin[0] . $url;
    if (str_starts_with($url, '#')) return preg_replace('/#.*$/', '', $base) . $url;
    $path = preg_replace('~[^/]*$~', '', preg_replace('~[?#].*$~', '', substr($base, strlen($origin[0]))));
    return $origin[0] . ($path ?: '/') . $url;
}
